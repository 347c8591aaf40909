// The stand-in library's share of the process: which state is mapped, and what every call asks first. Any thread.
#pragma once

#include <cstdint>

#include "drills/shadow/gpu/nvml_abi.h"
#include "drills/shadow/gpu/page.h"

namespace triodrill::shadow::gpu::nvml {

// Names the state file to the library; without it, the file of kStateBeside beside the library, as it was loaded: so
// each node of a machine can have a link to the library of its own, and needs no environment.
inline constexpr char kStateVariable[] = "TRIODRILL_SHADOW_GPU_STATE";
inline constexpr char kStateBeside[] = "gpu.state";

// The state, between nvmlInit and the last nvmlShutdown; null otherwise. A file, once mapped, stays mapped: another
// thread may still be in a call.
State* Attached();

// Handles are numbers, so that they outlive a shutdown, as those of the real library do.
inline Device HandleOf(uint32_t index) { return reinterpret_cast<Device>(uintptr_t{index} + 1); }

// kSuccess and the GPU, or what the call is to return.
Return Find(Device device, Gpu** gpu);
Return FindToSet(Device device, Gpu** gpu);

}  // namespace triodrill::shadow::gpu::nvml
