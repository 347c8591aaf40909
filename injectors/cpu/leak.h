// cpu.leak: takes memory beside one process, in its memory cgroup, more and more: through a small program of its own
// (triodrill-leak), because an injector holds no threads and no timers. The program's memory ends with it, and it ends
// with the process of the injector, at SIGTERM and when its time is up: no single death leaves anything.
#pragma once

#include <memory>
#include <string>

#include "injectors/process/process_identity.h"
#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty. Refuses a target whose memory cgroup cannot be
// joined: what is taken outside it would be another's.
std::unique_ptr<Injector> MakeCpuLeak(std::string program = "");

v1::Capability ProbeCpuLeak();

}  // namespace triodrill
