// process.kill: a fatal signal to one process. It cannot be taken back: the record exists between record and landing
// only, and is settled by any look (see DebtAfter in injectors/journal/settle.h).
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeProcessKill();

// For both faults of this folder: whether this kernel has pidfds.
v1::Capability ProbeProcessKill();
v1::Capability ProbeProcessPause();

}  // namespace triodrill
