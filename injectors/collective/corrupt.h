// Carries an order of corruption out on a call's buffer, and writes down what it did. Under the lock of whoever acts.
#pragma once

#include <cstdint>

#include "injectors/collective/act.h"
#include "injectors/collective/page.h"

namespace triodrill::collective {

// What the call sends, or receives; {nullptr, 0} if this rank has no such buffer in it.
struct Buffer {
  void* data;
  uint64_t elements;
};
Buffer BufferOf(const Call& call, uint32_t moment);

// Whether a stale block is to be remembered first.
bool NeedsToRemember(const RuleOrder& order, uint32_t number, uint64_t token);

struct Corruption {
  Page& page;
  Rule& rule;
  const RuleOrder& order;
  const Call& call;
  uint32_t number;  // of the rule
  uint64_t token;
  uint64_t matched;  // the call's number among those that matched
  uint64_t step;
};
void Corrupt(const Corruption& what);

}  // namespace triodrill::collective
