// The node's own policy file, as the agent reads it.
#pragma once

#include <string_view>
#include <vector>

#include "triodrill/schema/diagnostic.h"

namespace triodrill {

namespace v1 {
class AgentPolicy;
}  // namespace v1

// True if `policy` may be trusted. On any complaint the agent must arm nothing.
bool ParseAgentPolicy(std::string_view text, std::string_view file, v1::AgentPolicy& policy,
                      std::vector<Diagnostic>& problems);

}  // namespace triodrill
