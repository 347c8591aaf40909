// gpu.power_cap: the power limit of one rank's GPU, lowered. The prior limit is written back and read back.
// If the process of the injector dies at any instant, the limit stays until the record is replayed; it also goes with
// the driver, and with the boot.
#pragma once

#include <memory>

#include "injectors/gpu/nvml.h"
#include "triodrill/injector.h"

namespace triodrill {

std::unique_ptr<Injector> MakeGpuPowerCap();
v1::Capability ProbeGpuPowerCap();

}  // namespace triodrill
