// gpu.clock_lock: the SM clock of one rank's GPU, locked low.
// If the process of the injector dies at any instant, the lock stays until the record is replayed; it also goes with
// the driver, and with the boot.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeGpuClockLock();
v1::Capability ProbeGpuClockLock();

}  // namespace triodrill
