// What makes a damaged copy of a file differ from the original. RangeOf is pure, CopyDamaged writes one file.
#pragma once

#include <cstdint>
#include <string>

#include "triodrill/status.h"

namespace triodrill {

enum class DamageKind {
  kFlip,   // one bit of some bytes
  kCut,    // nothing from there on: the copy is shorter
  kZeros,  // zeros from there on, by whole pages of 4 KiB; the size stays
  kText,   // another content altogether
};

struct Damage {
  double position = 0.5;  // share of the size at which it begins
  int64_t bytes = 1;      // kFlip
  int bit = 0;            // kFlip
  DamageKind kind = DamageKind::kFlip;
  std::string text;  // kText
};
struct DamagedRange {
  int64_t offset = 0;
  int64_t count = 0;
};
// Within a file of that size, which is not empty.
DamagedRange RangeOf(const Damage& damage, int64_t size);

// FailedPrecondition if nothing would differ.
Status CopyDamaged(int from, int to, int64_t size, const Damage& damage);

}  // namespace triodrill
