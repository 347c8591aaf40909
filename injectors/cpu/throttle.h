// cpu.throttle: one process in a cgroup of its own, with a CPU quota.
// If the process of the injector dies at any instant, the cgroup and its quota stay until the record is replayed: it is
// found by its name, which holds the run and the shot.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeCpuThrottle();

// "cgroup v1", "cgroup v2", or why this process could not make a cgroup.
v1::Capability ProbeCpuThrottle();

}  // namespace triodrill
