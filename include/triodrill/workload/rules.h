// Acts on the armed rules of a page when a phase begins. Owned by the library, on the thread that begins the phase; the
// caller keeps other threads from registering tensors meanwhile. A process that ends in the middle leaves nothing: its
// tensors end with it.
#pragma once

#include <cstdint>

#include "triodrill/workload/corrupt.h"
#include "triodrill/workload/page.h"

namespace triodrill::workload {

// What stale rules remember, one a rule. The memory is kept for the next rule in that place.
struct StaleBlock {
  uint64_t token;
  uint64_t bytes;
  char* memory;
};

struct Job {
  const Span* spans;
  uint32_t span_count;
  uint32_t phase;  // its number
  const char* phase_name;
  StaleBlock* stale;  // kMostRules of them
};

void ActOnRules(Page& page, const Job& job);

}  // namespace triodrill::workload
