// NVML's events: an XID, a new ECC error. A set remembers what it has seen of each GPU, so nothing between two waits is
// missed; several XIDs between two waits are one event, with the last one's number.
#include <cstdlib>

#include "drills/shadow/gpu/nvml_driver.h"
#include "triodrill/workload/clock.h"

namespace triodrill::shadow::gpu::nvml {

struct EventSetHandle {
  unsigned long long types[kMostGpus];
  uint64_t xid[kMostGpus];
  uint64_t ecc[kMostGpus][2];
};

namespace {

constexpr unsigned long long kKnown = kEventSbe | kEventDbe | kEventXid;
constexpr unsigned long long kEccEvents[] = {kEventSbe, kEventDbe};  // by MemoryErrorType

bool TakeOne(State& state, EventSetHandle& set, EventData& out) {
  for (uint32_t index = 0; index < state.count; ++index) {
    const Gpu& gpu = state.gpus[index];
    const uint64_t xid = gpu.xid.load();
    if ((set.types[index] & kEventXid) != 0 && set.xid[index] != xid) {
      set.xid[index] = xid;
      out = {HandleOf(index), kEventXid, HighOf(xid), kNoInstance, kNoInstance};
      return true;
    }
    for (const MemoryErrorType type : {kCorrected, kUncorrected}) {
      const uint64_t errors = gpu.ecc[type][kVolatile].load();
      if ((set.types[index] & kEccEvents[type]) == 0 || set.ecc[index][type] == errors) continue;
      const bool grown = errors > set.ecc[index][type];
      set.ecc[index][type] = errors;
      if (!grown) continue;
      out = {HandleOf(index), kEccEvents[type], 0, kNoInstance, kNoInstance};
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" {

Return nvmlEventSetCreate(EventSet* set) {
  if (Attached() == nullptr) return kUninitialized;
  if (set == nullptr) return kInvalidArgument;
  *set = static_cast<EventSet>(std::calloc(1, sizeof(EventSetHandle)));
  return *set == nullptr ? kMemory : kSuccess;
}

Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  Gpu* gpu = nullptr;
  const Return found = Find(device, &gpu);
  if (found != kSuccess) return found;
  if (set == nullptr) return kInvalidArgument;
  if ((types & ~kKnown) != 0) return kNotSupported;
  const auto index = static_cast<uint32_t>(gpu - Attached()->gpus);
  set->types[index] |= types;
  set->xid[index] = gpu->xid.load();
  for (const MemoryErrorType type : {kCorrected, kUncorrected})
    set->ecc[index][type] = gpu->ecc[type][kVolatile].load();
  return kSuccess;
}

Return nvmlEventSetWait_v2(EventSet set, EventData* out, unsigned timeout_ms) {
  State* const state = Attached();
  if (state == nullptr) return kUninitialized;
  if (set == nullptr || out == nullptr) return kInvalidArgument;
  const int64_t deadline = workload::MonotonicNanos() + int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    const uint32_t seen = state->events.load();
    if (TakeOne(*state, *set, *out)) return kSuccess;
    const int64_t left = deadline - workload::MonotonicNanos();
    if (left <= 0) return kTimeout;
    WaitForEvent(*state, seen, left);
  }
}

Return nvmlEventSetFree(EventSet set) {
  std::free(set);
  return kSuccess;
}

}  // extern "C"
}  // namespace triodrill::shadow::gpu::nvml
