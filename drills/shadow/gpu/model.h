// What a GPU does under its conditions. Pure.
//
// It is always under load: the clock is the highest that the lock allows; what it draws is in proportion to the clock;
// where that is more than the power cap, the clock is lowered until it fits. Software's answer to heat takes a quarter
// off, any of the hardware's takes half.
#pragma once

#include <chrono>

#include "drills/shadow/gpu/state.h"

namespace triodrill::shadow::gpu {

struct Operating {
  uint32_t sm_mhz = 0;
  uint32_t memory_mhz = 0;
  uint32_t power_mw = 0;
  uint64_t reasons = 0;
};

struct Conditions {
  uint64_t locked_sm = 0;
  uint64_t locked_memory = 0;
  uint32_t limit_mw = 0;
  uint32_t temperature_c = 0;
  uint64_t reasons = 0;
};

// As many as an H100 has.
inline constexpr int kMultiprocessors = 132;

Operating Operate(const Identity& identity, const Conditions& conditions);
Operating Operate(const Gpu& gpu);

// How long something takes at `sm_mhz` that takes `at_full_clock` at `max_sm_mhz`.
std::chrono::nanoseconds Stretched(std::chrono::nanoseconds at_full_clock, uint32_t max_sm_mhz, uint32_t sm_mhz);

}  // namespace triodrill::shadow::gpu
