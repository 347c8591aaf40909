// Finds which stretches of a buffer hold a value whose magnitude is within bounds. Written so that the compiler makes
// vectors of it: it must keep up with the memory. Pure.
#pragma once

#include <cstdint>

#include "triodrill/corruption.h"

namespace triodrill::collective {

// Elements that are looked at together.
inline constexpr uint64_t kStretch = 1024;

// Whether one of `elements` (at most kStretch) from `data` on is in the order's range.
bool AnyInRange(const corruption::Order& order, const void* data, uint64_t elements);

}  // namespace triodrill::collective
