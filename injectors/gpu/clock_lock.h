// gpu.clock_lock: the SM clock of one rank's GPU, locked low. NVML sets and resets locked clocks and has no getter of
// them: what is seen is the clock itself, and why it is what it is.
// If the process of the injector dies at any instant, the lock stays until the record is replayed; it also goes with
// the driver, and with the boot.
#pragma once

#include <memory>

#include "injectors/gpu/nvml.h"
#include "triodrill/injector.h"

namespace triodrill {

// What a clock says of a lock at `ours` MHz. Pure.
enum class LockSeen {
  kFree,     // it runs faster, or it is low because the GPU is idle: a lock at `ours` is not there
  kOurs,     // it is at `ours`, and nothing else explains it
  kForeign,  // it is neither at `ours` nor at its highest, and nothing explains it: locked by somebody else
  kUnclear,  // it is low, and power or heat explain it: a lock would not show
};
LockSeen LookForLock(const Nvml::Clocks& clocks, uint32_t ours);

std::unique_ptr<Injector> MakeGpuClockLock();
v1::Capability ProbeGpuClockLock();

}  // namespace triodrill
