// What NVML says of one GPU, and what it lets its callers set. Each setter is one store.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "drills/shadow/gpu/model.h"
#include "drills/shadow/gpu/nvml_driver.h"
#include "drills/shadow/gpu/processes.h"

namespace triodrill::shadow::gpu::nvml {
namespace {

constexpr char kDriverVersion[] = "580.00.shadow";
constexpr unsigned kClockStep = 15;
constexpr unsigned long long kContextBytes = 1ULL << 30;

Return Copy(char* out, unsigned room, const char* text) {
  if (out == nullptr) return kInvalidArgument;
  const size_t length = std::strlen(text);
  if (length >= room) return kInsufficientSize;
  std::memcpy(out, text, length + 1);
  return kSuccess;
}

// Calls `tell(gpu)` if the device is there and `outs` point somewhere.
template <typename Tell, typename... Outs>
Return Get(Device device, Tell tell, Outs*... outs) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  if (found != kSuccess) return found;
  if (!(... && outs)) return kInvalidArgument;
  tell(static_cast<const Gpu&>(*gpu));
  return kSuccess;
}

bool IsSpecial(unsigned mhz) { return mhz == kLimitTdp || mhz == kLimitUnlimited; }

Return Lock(Word64& locked, unsigned low, unsigned high, unsigned lowest, unsigned highest) {
  if (IsSpecial(low) != IsSpecial(high)) return kInvalidArgument;
  if (IsSpecial(low)) {
    locked.store(0);
    return kSuccess;
  }
  if (low > high || high < lowest || low > highest) return kInvalidArgument;
  locked.store(PackRange(low, high));
  return kSuccess;
}

Return Reasons(Device device, unsigned long long* reasons) {
  return Get(
      device, [&](const Gpu& gpu) { *reasons = Operate(gpu).reasons; }, reasons);
}

}  // namespace

extern "C" {

Return nvmlSystemGetDriverVersion(char* out, unsigned room) {
  return Attached() == nullptr ? kUninitialized : Copy(out, room, kDriverVersion);
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  if (Attached() == nullptr) return kUninitialized;
  if (count == nullptr) return kInvalidArgument;
  *count = Attached()->count;
  return kSuccess;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (device == nullptr) return kInvalidArgument;
  Gpu* gpu = nullptr;
  const Return found = Find(HandleOf(index), &gpu);
  if (found == kSuccess) *device = HandleOf(index);
  return found;
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  const State* const state = Attached();
  if (state == nullptr) return kUninitialized;
  if (uuid == nullptr || device == nullptr) return kInvalidArgument;
  for (uint32_t index = 0; index < state->count; ++index) {
    if (std::strcmp(state->gpus[index].identity.uuid, uuid) == 0) return nvmlDeviceGetHandleByIndex_v2(index, device);
  }
  return kNotFound;
}

Return nvmlDeviceGetUUID(Device device, char* out, unsigned room) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  return found != kSuccess ? found : Copy(out, room, gpu->identity.uuid);
}

Return nvmlDeviceGetName(Device device, char* out, unsigned room) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  return found != kSuccess ? found : Copy(out, room, gpu->identity.name);
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  const auto tell = [&](const Gpu& gpu) {
    *out = {};
    std::snprintf(out->bus_id, sizeof out->bus_id, "%s", gpu.identity.bus_id);
    // The older form has a domain of four digits.
    std::snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%.15s", gpu.identity.bus_id + 4);
    // Ours, and so of this form; were it not, all three would stay 0.
    static_cast<void>(std::sscanf(gpu.identity.bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device));
  };
  return Get(device, tell, out);
}

Return nvmlDeviceSetGpuLockedClocks(Device device, unsigned low, unsigned high) {
  Gpu* gpu = nullptr;
  const Return found = FindToSet(device, &gpu);
  if (found != kSuccess) return found;
  return Lock(gpu->locked_sm, low, high, gpu->identity.min_sm_mhz, gpu->identity.max_sm_mhz);
}

Return nvmlDeviceResetGpuLockedClocks(Device device) {
  Gpu* gpu = nullptr;
  const Return found = FindToSet(device, &gpu);
  if (found == kSuccess) gpu->locked_sm.store(0);
  return found;
}

Return nvmlDeviceSetMemoryLockedClocks(Device device, unsigned low, unsigned high) {
  Gpu* gpu = nullptr;
  const Return found = FindToSet(device, &gpu);
  if (found != kSuccess) return found;
  return Lock(gpu->locked_memory, low, high, 1, gpu->identity.max_memory_mhz);
}

Return nvmlDeviceResetMemoryLockedClocks(Device device) {
  Gpu* gpu = nullptr;
  const Return found = FindToSet(device, &gpu);
  if (found == kSuccess) gpu->locked_memory.store(0);
  return found;
}

Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned* mw) {
  return Get(
      device, [&](const Gpu& gpu) { *mw = gpu.limit_mw.load(); }, mw);
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* mw) {
  return nvmlDeviceGetPowerManagementLimit(device, mw);
}

Return nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* low, unsigned* high) {
  const auto tell = [&](const Gpu& gpu) {
    *low = gpu.identity.min_limit_mw;
    *high = gpu.identity.max_limit_mw;
  };
  return Get(device, tell, low, high);
}

Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* mw) {
  return Get(
      device, [&](const Gpu& gpu) { *mw = gpu.identity.default_limit_mw; }, mw);
}

Return nvmlDeviceSetPowerManagementLimit(Device device, unsigned mw) {
  Gpu* gpu = nullptr;
  const Return found = FindToSet(device, &gpu);
  if (found != kSuccess) return found;
  if (mw < gpu->identity.min_limit_mw || mw > gpu->identity.max_limit_mw) return kInvalidArgument;
  gpu->limit_mw.store(mw);
  return kSuccess;
}

Return nvmlDeviceGetPowerUsage(Device device, unsigned* mw) {
  return Get(
      device, [&](const Gpu& gpu) { *mw = Operate(gpu).power_mw; }, mw);
}

Return nvmlDeviceGetClockInfo(Device device, ClockType type, unsigned* mhz) {
  if (type > kClockVideo) return kInvalidArgument;
  const auto tell = [&](const Gpu& gpu) {
    const Operating now = Operate(gpu);
    *mhz = type == kClockMemory ? now.memory_mhz : now.sm_mhz;
  };
  return Get(device, tell, mhz);
}

Return nvmlDeviceGetMaxClockInfo(Device device, ClockType type, unsigned* mhz) {
  if (type > kClockVideo) return kInvalidArgument;
  const auto tell = [&](const Gpu& gpu) {
    *mhz = type == kClockMemory ? gpu.identity.max_memory_mhz : gpu.identity.max_sm_mhz;
  };
  return Get(device, tell, mhz);
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return Reasons(device, reasons);
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  if (Attached() != nullptr && Attached()->old_driver.load() != 0) return kFunctionNotFound;
  return Reasons(device, reasons);
}

Return nvmlDeviceGetSupportedMemoryClocks(Device device, unsigned* count, unsigned* clocks) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  if (found != kSuccess) return found;
  if (count == nullptr) return kInvalidArgument;
  const bool room = clocks != nullptr && *count >= 1;
  *count = 1;
  if (!room) return kInsufficientSize;
  clocks[0] = gpu->identity.max_memory_mhz;
  return kSuccess;
}

Return nvmlDeviceGetSupportedGraphicsClocks(Device device, unsigned memory, unsigned* count, unsigned* clocks) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  if (found != kSuccess) return found;
  if (count == nullptr) return kInvalidArgument;
  const Identity& is = gpu->identity;
  if (memory != is.max_memory_mhz) return kNotFound;
  const unsigned steps = (is.max_sm_mhz - is.min_sm_mhz) / kClockStep + 1;
  const bool room = clocks != nullptr && *count >= steps;
  *count = steps;
  if (!room) return kInsufficientSize;
  for (unsigned i = 0; i < steps; ++i) clocks[i] = is.max_sm_mhz - kClockStep * i;
  return kSuccess;
}

Return nvmlDeviceGetTemperature(Device device, TemperatureSensor sensor, unsigned* celsius) {
  if (sensor != kSensorGpu) return kInvalidArgument;
  return Get(
      device, [&](const Gpu& gpu) { *celsius = gpu.temperature_c.load(); }, celsius);
}

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  const auto tell = [&](const Gpu& gpu) {
    const uint32_t busy = UtilizationOf(gpu);
    *out = {busy, busy / 2};
  };
  return Get(device, tell, out);
}

Return nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  return Get(
      device, [&](const Gpu&) { *current = *pending = 1; }, current, pending);
}

Return nvmlDeviceGetTotalEccErrors(Device device, MemoryErrorType type, EccCounterType counter,
                                   unsigned long long* errors) {
  if (type > kUncorrected || counter > kAggregate) return kInvalidArgument;
  return Get(
      device, [&](const Gpu& gpu) { *errors = gpu.ecc[type][counter].load(); }, errors);
}

// All of a shadow GPU's errors are in its DRAM.
Return nvmlDeviceGetMemoryErrorCounter(Device device, MemoryErrorType type, EccCounterType counter,
                                       MemoryLocation location, unsigned long long* errors) {
  if (type > kUncorrected || counter > kAggregate || location >= kLocations) return kInvalidArgument;
  const auto tell = [&](const Gpu& gpu) { *errors = location == kDram ? gpu.ecc[type][counter].load() : 0; };
  return Get(device, tell, errors);
}

Return nvmlDeviceGetRemappedRows(Device device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                                 unsigned* failure) {
  const auto tell = [&](const Gpu& gpu) {
    *correctable = gpu.rows[kRowsCorrectable].load();
    *uncorrectable = gpu.rows[kRowsUncorrectable].load();
    *pending = gpu.rows[kRowsPending].load();
    *failure = gpu.rows[kRowsFailure].load();
  };
  return Get(device, tell, correctable, uncorrectable, pending, failure);
}

Return nvmlDeviceGetPersistenceMode(Device device, unsigned* on) {
  return Get(
      device, [&](const Gpu&) { *on = 1; }, on);
}

Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return Get(
      device, [&](const Gpu&) { *current = *pending = 0; }, current, pending);
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  if (found != kSuccess) return found;
  if (count == nullptr || (*count > 0 && out == nullptr)) return kInvalidArgument;
  unsigned living = 0;
  for (const Word64& word : gpu->processes) {
    const pid_t pid = LivingProcess(word.load());
    if (pid == 0) continue;
    if (living < *count) out[living] = {static_cast<unsigned>(pid), kContextBytes, kNoInstance, kNoInstance};
    ++living;
  }
  const bool room = living <= *count;
  *count = living;
  return room ? kSuccess : kInsufficientSize;
}

}  // extern "C"
}  // namespace triodrill::shadow::gpu::nvml
