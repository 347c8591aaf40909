// process.oom: one process in a memory cgroup of its own, without room: the kernel's OOM killer ends it when it next
// needs memory. What it held before stays charged where it was (no kernel of today moves it), so only what it takes
// from then on counts. The process is moved in first and the limit is written after, once the handle shows that it was
// the right one. If the process of the injector dies at any instant, the cgroup stays until the record is replayed, as
// cpu.throttle's does.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses a process that the OOM killer may not choose (oom_score_adj -1000).
std::unique_ptr<Injector> MakeProcessOom();

// "cgroup v1", "cgroup v2", or why this process could not make a cgroup.
v1::Capability ProbeProcessOom();

}  // namespace triodrill
