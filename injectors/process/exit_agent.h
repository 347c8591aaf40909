// process.exit_agent: a fatal signal to the launcher above a rank, the job's own daemon on that node. As process.kill
// it cannot be taken back: the record is settled by any look. Never this project's agent, nor anything above it.
#pragma once

#include <memory>

#include "triodrill/injector.h"

namespace triodrill {

// The nearest process above the target whose command line matches. Which it is is decided by Prepare, and recorded with
// its identity. Refuses a pattern that no process above the target matches.
std::unique_ptr<Injector> MakeProcessExitAgent();

}  // namespace triodrill
