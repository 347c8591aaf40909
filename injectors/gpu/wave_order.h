// What triodrill-clockwave is told, as its argument vector. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

struct WaveOrder {
  HelperOrder common;
  std::string library;  // NVML
  std::string uuid;
  uint32_t lowest_mhz = 0;
  uint32_t highest_mhz = 0;  // the GPU's own
  Nanos wave{0};             // from one trough to the next
};

inline constexpr std::string_view kWaveProgram = "triodrill-clockwave";
// The name (/proc/PID/comm) under which the program says how often it has seen a clock that it set: "wave:12".
inline constexpr std::string_view kWaveCount = "wave:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> WaveArguments(const WaveOrder& order);
Result<WaveOrder> ParseWaveArguments(const std::vector<std::string>& arguments);

// The clock `at` after the beginning: a sine between the two that begins half-way down, so that it shows at once.
uint32_t ClockAt(const WaveOrder& order, Nanos at);

}  // namespace triodrill
