// A cgroup that a drill makes for one process and takes away again: what cpu.throttle and process.oom have in common.
// The record is older than the directory: it is known by its name, which holds the run and the shot. A crash leaves it
// until the replay. One thread.
#pragma once

#include <string>
#include <string_view>

#include "injectors/os/cgroup.h"
#include "injectors/os/fd.h"
#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// Where it would go and where the process goes back to. Reads only; refuses a name that is taken.
Result<v1::CgroupPrior> PlanDrillCgroup(const v1::AimedFault& fault, std::string_view controller);
// What a person would type.
std::string EmptyByHand(const v1::CgroupPrior& ours);

// Enables the controller if it has to be, makes the directory and opens it: everything after is done relative to it, so
// that a directory put in its place later is not touched.
Result<UniqueFd> MakeDrillCgroup(const v1::CgroupPrior& ours, std::string_view controller);
// NotFound if it is gone; FailedPrecondition if it is not the one that we made.
Result<UniqueFd> OpenDrillCgroup(const v1::CgroupPrior& ours);

// Moves the process in. If it has ended by then its number may be another's: look at the handle again afterwards.
Status MoveInto(int directory, const ProcessHandle& process);

// Everything in it goes back, also what the target started meanwhile; then it is removed. Bounded.
Status EmptyAndRemove(int directory, const v1::CgroupPrior& ours, std::string_view controller);
// v2: takes the controller out of the parent's subtree again, unless one of its children has settings of it by now.
Status DisableController(const v1::CgroupPrior& ours, std::string_view controller);

}  // namespace triodrill
