// Which of the calls that match a rule act: a pure function of the rule and the call's number, so that it is known
// beforehand and can be checked afterwards.
#pragma once

#include <cstdint>

#include "injectors/collective/page.h"
#include "triodrill/philox.h"

namespace triodrill::collective {

inline constexpr uint64_t kMostBurst = 64;

// Whether a burst begins at call number `call`.
inline bool Begins(const RuleOrder& order, uint64_t call) {
  if (call < order.first) return false;
  if (order.chance != 0) {
    return philox::Draw(order.corruption.seed, corruption::kForCalls, call, 0).word[0] < order.chance;
  }
  const uint64_t since = call - order.first;
  return order.every == 0 ? since == 0 : since % order.every == 0;
}

inline bool Acts(const RuleOrder& order, uint64_t call) {
  const uint64_t burst = order.burst == 0 ? 1 : (order.burst < kMostBurst ? order.burst : kMostBurst);
  for (uint64_t back = 0; back < burst && back <= call; ++back) {
    if (Begins(order, call - back)) return true;
  }
  return false;
}

// Whether no call from `call` on will act any more.
inline bool IsOver(const RuleOrder& order, uint64_t call) {
  const uint64_t burst = order.burst == 0 ? 1 : (order.burst < kMostBurst ? order.burst : kMostBurst);
  return order.chance == 0 && order.every == 0 && call >= order.first && call - order.first >= burst;
}

}  // namespace triodrill::collective
