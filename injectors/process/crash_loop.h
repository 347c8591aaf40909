// process.crash_loop: kills the target, and then whatever like it appears in this pid namespace, through a small
// program of its own (triodrill-crashloop). It ends with the process of the injector, at SIGTERM and when its time is
// up; then processes live again. What it killed does not come back by an undo.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty. Refuses a pattern that does not match the
// target itself: it would not be of the workload.
std::unique_ptr<Injector> MakeProcessCrashLoop(std::string program = "");

v1::Capability ProbeProcessCrashLoop();

}  // namespace triodrill
