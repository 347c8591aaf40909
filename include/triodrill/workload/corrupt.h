// What a rule does to elements. Pure: memory in, memory out; no clock, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "triodrill/workload/page.h"

namespace triodrill::workload {

// One registered tensor: `elements` values of `dtype` at `data`.
struct Span {
  void* data;
  uint64_t elements;
  uint32_t dtype;
  const char* name;
};

// Bytes of one element; 0 if there is no such type.
uint32_t WidthOf(uint32_t dtype);

// The raw bits of element `index`.
uint64_t LoadRaw(const Span& span, uint64_t index);
void StoreRaw(const Span& span, uint64_t index, uint64_t raw);

// Whether `raw` of that type can be changed as ordered, and how. False if the order does not fit the type.
bool Mutate(const RuleOrder& order, uint32_t dtype, uint64_t raw, uint64_t* mutated);

// Element number `ordinal` (below order.elements) of those that the order picks out of `total` > 0 ones: a walk of
// order.elements of them meets none twice. `total` if there is none.
// `drawn` holds those picked before it, `ordinal` many.
uint64_t Pick(const RuleOrder& order, uint64_t total, uint32_t ordinal, const uint64_t* drawn);

// "gradients" matches "gradients" and "gradients/layer1.bias".
bool NameMatches(const char* wanted, const char* name);

}  // namespace triodrill::workload
