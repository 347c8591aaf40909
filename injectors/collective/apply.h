// An order of corruption, carried out on host memory. Owned by whoever calls it, on the caller's thread; no allocation,
// no clock. Costs what it picks; an order for all elements within a range of values reads each element once.
#pragma once

#include <cstdint>

#include "triodrill/corruption.h"

namespace triodrill::collective {

struct Hit {
  uint64_t index;
  uint64_t before;  // raw bits; they differ
  uint64_t after;
};

struct Memory {
  void* data;
  uint64_t elements;
  const void*
      replacement;  // of kReplace: `replaced` elements that were remembered; nullptr: those at the order's source
  uint64_t replaced;
};

// Plain, not virtual: the library that is preloaded into jobs has no C++ run-time library.
struct HitSink {
  void (*found)(void* context, const Hit& hit);
  void* context;
};

uint64_t LoadRaw(uint32_t type, const void* data, uint64_t index);
void StoreRaw(uint32_t type, void* data, uint64_t index, uint64_t raw);

// How many elements have other bits than before. `sink` is told of each, in the order of the picks. Nothing if the
// order does not fit its type (corruption::Fits).
uint64_t Apply(const corruption::Order& order, const Memory& memory, uint64_t call, const HitSink& sink);

}  // namespace triodrill::collective
