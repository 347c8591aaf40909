// The states of a run without a fault, read off its output. Pure.
#pragma once

#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

// One for each line that matches. InvalidArgument for an expression RE2 does not take or one without `step` and `hash`;
// NotFound if no line matches; FailedPrecondition if one state is told twice, and differently.
Result<std::vector<v1::StateReference>> ParseReference(const v1::Reference& reference, const std::string& text);

}  // namespace triodrill::watch
