// cpu.stutter: stops and continues one process in a duty cycle; environment.drift on a process without a GPU: the same
// for a small share of time that rises and falls slowly. Both through a small program of their own (triodrill-stutter),
// because an injector holds no threads and no timers. If the process of the injector dies, the program continues the
// target and ends; it does so too at SIGTERM, at the end of the target, and when its time is up. It is two processes
// that watch each other, so that killing either leaves nothing stopped; if both are killed at once, the replay of the
// record continues the target.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty.
std::unique_ptr<Injector> MakeCpuStutter(std::string program = "");
std::unique_ptr<Injector> MakeProcessDrift(std::string program = "");

v1::Capability ProbeCpuStutter();

}  // namespace triodrill
