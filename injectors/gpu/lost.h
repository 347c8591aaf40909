// gpu.lost: one rank's shadow GPU falls off the bus, and is back at the end. No driver loses a real GPU on request, so
// where the library is not the shadow GPUs' stand-in the fault is refused at plan time.
// If the process of the injector dies at any instant, the GPU stays lost until the record is replayed.
#pragma once

#include <memory>

#include "injectors/gpu/nvml.h"
#include "triodrill/injector.h"

namespace triodrill {

std::unique_ptr<Injector> MakeGpuLost();
v1::Capability ProbeGpuLost();

}  // namespace triodrill
