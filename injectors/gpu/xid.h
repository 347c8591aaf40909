// gpu.xid: one line in the kernel log, as NVIDIA's driver writes it for an XID of the GPU on which the target computes.
// Nothing happens to the GPU. A line that is written stays: there is nothing to undo, and a crash leaves it there or
// not.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeGpuXid();

// Needs NVML, which names the GPU, and a kernel log that may be read and written.
v1::Capability ProbeGpuXid();

}  // namespace triodrill
