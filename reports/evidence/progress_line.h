// Nine facts of ten say that somebody made a step. These are written and read here without the schema's descriptors,
// which costs a third of it; the bytes and the messages are those of triodrill/schema/json.h, to which the tests hold
// both. Pure.
#pragma once

#include <string>
#include <string_view>

#include "reports/evidence/progress_table.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill {

// `fact` has `progress`. Appends what AppendJson would.
void AppendProgressFact(const v1::Fact& fact, std::string& out);

// What a line says; the texts are in it.
struct ProgressLine {
  ProgressRow row;  // but its source
  std::string_view slot, node;
  int32_t rank = 0;
};

// False for anything but the canonical text of such a fact without an escape in it, also for what is only spelled
// otherwise: FromJson decides about that. `said` is then of no use.
bool ReadProgressLine(std::string_view json, ProgressLine& said);

}  // namespace triodrill
