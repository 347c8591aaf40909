// collective.corrupt, collective.delay, collective.hang and collective.desync: what the shim that is preloaded into a
// training process (libtriodrill_nccl.so) does to its NCCL calls. The injector arms a rule in the page that the shim
// shares and never touches the process itself.
// Refused without proof that calls come through the shim: its counters must move.
// Undone = the rule is withdrawn and no call is at work on it; a call that was held goes on. What was computed from a
// corrupted buffer, and that a rank is a collective ahead, stays. If the process of the injector dies, the rule goes on
// until the replay, the end of the training process, or its deadline, which the shim checks, also while it holds a
// call.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::unique_ptr<Injector> MakeCollectiveCorrupt();
std::unique_ptr<Injector> MakeCollectiveDelay();
std::unique_ptr<Injector> MakeCollectiveHang();
std::unique_ptr<Injector> MakeCollectiveDesync();

v1::Capability ProbeCollectiveCorrupt();
v1::Capability ProbeCollectiveDelay();
v1::Capability ProbeCollectiveHang();
v1::Capability ProbeCollectiveDesync();

}  // namespace triodrill
