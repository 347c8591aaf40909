// process.kill: a fatal signal to one process. It cannot be taken back: the record exists between record and landing
// only, and is settled by any look (see DebtAfter in injectors/journal/settle.h).
#pragma once

#include <memory>
#include <string>

#include "injectors/process/process_identity.h"
#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeProcessKill();

// Shared with process.exit_agent. The number of a signal that ends programs; `fallback` if the name is empty.
Result<int> FatalSignalNumber(const std::string& name, int fallback);
// For faults through pidfds: whether this kernel has pidfds.
v1::Capability ProbeProcessKill();
v1::Capability ProbeProcessPause();
v1::Capability ProbeProcessExitAgent();

}  // namespace triodrill
