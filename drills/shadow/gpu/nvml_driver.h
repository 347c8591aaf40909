// The stand-in library's share of the process: which state is mapped, and what every call asks first. Any thread.
#pragma once

#include <cstdint>

#include "drills/shadow/gpu/nvml_abi.h"
#include "drills/shadow/gpu/page.h"

namespace triodrill::shadow::gpu::nvml {

// The state, between nvmlInit and the last nvmlShutdown; null otherwise. A file, once mapped, stays mapped: another
// thread may still be in a call.
State* Attached();

// Handles are numbers, so that they outlive a shutdown, as those of the real library do.
inline Device HandleOf(uint32_t index) { return reinterpret_cast<Device>(uintptr_t{index} + 1); }

// kSuccess and the GPU, or what the call is to return.
Return Find(Device device, Gpu** gpu);
Return FindToSet(Device device, Gpu** gpu);

}  // namespace triodrill::shadow::gpu::nvml
