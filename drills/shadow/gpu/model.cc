#include "drills/shadow/gpu/model.h"

#include <algorithm>

#include "drills/shadow/gpu/nvml_abi.h"

namespace triodrill::shadow::gpu {
namespace {

constexpr uint64_t kHardware = nvml::kHwSlowdown | nvml::kHwThermalSlowdown | nvml::kHwPowerBrake;

uint32_t DrawAt(const Identity& identity, uint32_t sm_mhz) {
  return static_cast<uint32_t>(uint64_t{identity.demand_mw} * sm_mhz / identity.max_sm_mhz);
}

}  // namespace

Operating Operate(const Identity& identity, const Conditions& conditions) {
  Operating now;
  now.reasons = conditions.reasons;
  if (conditions.temperature_c >= identity.slowdown_c) now.reasons |= nvml::kHwThermalSlowdown | nvml::kHwSlowdown;
  uint32_t clock = identity.max_sm_mhz;
  if (conditions.locked_sm != 0) clock = std::min(clock, HighOf(conditions.locked_sm));
  if (DrawAt(identity, clock) > conditions.limit_mw) {
    clock = static_cast<uint32_t>(uint64_t{identity.max_sm_mhz} * conditions.limit_mw / identity.demand_mw);
    now.reasons |= nvml::kSwPowerCap;
  }
  if ((now.reasons & nvml::kSwThermalSlowdown) != 0) clock = clock / 4 * 3;
  if ((now.reasons & kHardware) != 0) clock /= 2;
  now.sm_mhz = std::max(clock, identity.min_sm_mhz);
  now.memory_mhz = identity.max_memory_mhz;
  if (conditions.locked_memory != 0) now.memory_mhz = std::min(now.memory_mhz, HighOf(conditions.locked_memory));
  now.power_mw = std::min(conditions.limit_mw, DrawAt(identity, now.sm_mhz));
  return now;
}

Operating Operate(const Gpu& gpu) {
  return Operate(gpu.identity, {gpu.locked_sm.load(), gpu.locked_memory.load(), gpu.limit_mw.load(),
                                gpu.temperature_c.load(), gpu.reasons.load()});
}

std::chrono::nanoseconds Stretched(std::chrono::nanoseconds at_full_clock, uint32_t max_sm_mhz, uint32_t sm_mhz) {
  return at_full_clock * max_sm_mhz / sm_mhz;
}

}  // namespace triodrill::shadow::gpu
