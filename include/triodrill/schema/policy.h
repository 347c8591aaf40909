// Policy files: the node's own, as the agent reads it, and that of the reference pipeline.
#pragma once

#include <string_view>
#include <vector>

#include "triodrill/schema/diagnostic.h"

namespace triodrill {

namespace v1 {
class AgentPolicy;
class ShadowPolicy;
}  // namespace v1

// True if `policy` may be trusted. On any complaint the agent must arm nothing.
bool ParseAgentPolicy(std::string_view text, std::string_view file, v1::AgentPolicy& policy,
                      std::vector<Diagnostic>& problems);

// The same for the reference pipeline of the embedded shadow partition.
bool ParseShadowPolicy(std::string_view text, std::string_view file, v1::ShadowPolicy& policy,
                       std::vector<Diagnostic>& problems);

}  // namespace triodrill
