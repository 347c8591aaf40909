// gpu.hang: lets the work of one process on its GPU wait. The process's own library (libtriodrill) puts a kernel that
// spins on its default stream when a phase begins: the injector writes and arms a rule in the page that they share, and
// the kernel looks at that rule itself. Undone = the rule is withdrawn and the kernel says that it has ended. If the
// process of the injector dies, the kernel spins until the replay, the end of the process or the rule's deadline, which
// it has as its own.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses a process that has no page, does not know the phase, or has loaded no CUDA driver.
std::unique_ptr<Injector> MakeGpuHang();

v1::Capability ProbeGpuHang();

}  // namespace triodrill
