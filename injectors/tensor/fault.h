// tensor.flip, .scale, .stuck_lane, .stale, .nan: elements of a tensor of the job, changed by the job's own library
// when a phase of the step begins: the injector arms a rule in the page that the training process shares (libtriodrill)
// and never touches its memory itself. Undone = the rule is withdrawn and the library is not at work on it; the value
// stays what the job made of it. If the process of the injector dies, the rule goes on until the replay, the end of the
// training process or its deadline, which the library checks.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Each refuses a process without a page, a tensor or a phase that it does not know, elements or a bit outside the
// tensor, and a type that has no such value.
std::unique_ptr<Injector> MakeTensorFlip();
std::unique_ptr<Injector> MakeTensorScale();
std::unique_ptr<Injector> MakeTensorStuckLane();
std::unique_ptr<Injector> MakeTensorStale();
std::unique_ptr<Injector> MakeTensorNan();

v1::Capability ProbeTensorFlip();
v1::Capability ProbeTensorScale();
v1::Capability ProbeTensorStuckLane();
v1::Capability ProbeTensorStale();
v1::Capability ProbeTensorNan();

}  // namespace triodrill
