// Starting one program of a node: a direct child of the node's init, in its own session, with nothing inherited but
// its standard streams.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::shadow {

// Returns once the program has been executed; an error says why it was not.
Result<pid_t> StartProgram(const v1::Program& program, const std::vector<std::string>& environment);

}  // namespace triodrill::shadow
