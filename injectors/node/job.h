// The job's processes on this node, found from one of them. Reads only.
#pragma once

#include <string>
#include <vector>

#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// The RE2 of node.lost or node.flapping.
const std::string& MatchOf(const v1::AimedFault& fault);

// Every process of this pid namespace whose command line matches, but for those that no drill may touch (this
// process's own helpers are among them) and those that the node's policy protects.
Result<std::vector<ProcessHandle>> FindJobProcesses(const v1::AimedFault& fault);

// The same before a fault, when the target must be there, and match: a pattern that does not is of another job. Fails
// if one of them may not be sent signals.
Result<std::vector<ProcessHandle>> CheckJobProcesses(const v1::AimedFault& fault);

}  // namespace triodrill
