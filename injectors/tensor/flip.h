// tensor.flip: one bit of elements of a tensor of the job, flipped by the job's own library when a phase of the step
// begins: the injector arms a rule in the page that the training process shares (libtriodrill) and never touches its
// memory itself.
// Undone = the rule is withdrawn and the library is not at work on it; the value stays what the job made of it. If the
// process of the injector dies, the rule goes on until the replay, the end of the training process or its deadline,
// which the library checks.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses a process without a page, a tensor or a phase that it does not know, and elements or a bit outside the
// tensor.
std::unique_ptr<Injector> MakeTensorFlip();

v1::Capability ProbeTensorFlip();

}  // namespace triodrill
