// A process that trains, as far as the workload library can tell.
#pragma once

#include <string>

#include "tests/unit/injectors/child.h"

namespace triodrill::testing {

// Attached, with the tensors "weights" (8 doubles), "gradients" and "reduced_gradients" (64 floats each), beginning the
// phases gradients, reduced and applied again and again, with new gradients and other weights in each step; all of
// these are known when it returns. In `directory` if that is not "". Not attached if `page` is false.
Child Training(bool page = true, const std::string& directory = "");

}  // namespace triodrill::testing
