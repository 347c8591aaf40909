// Where a stand-in library finds the state of the node's shadow GPUs. libc alone. One thread at a time.
#pragma once

namespace triodrill::shadow::gpu {

// Names the state file to the library; without it, the file of kStateBeside beside the library, as it was loaded: so
// each node of a machine can have links to the libraries of its own, and needs no environment.
inline constexpr char kStateVariable[] = "TRIODRILL_SHADOW_GPU_STATE";
inline constexpr char kStateBeside[] = "gpu.state";

// Null if there is none, or no room for its name. Static: until the next call.
const char* StatePath();

}  // namespace triodrill::shadow::gpu
