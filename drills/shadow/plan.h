// What a sandbox is made of, worked out from its specification. Pure: reads nothing, changes nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::shadow {

inline constexpr std::string_view kBridge = "br0";
inline constexpr std::string_view kNodeInterface = "eth0";

// Which of the two programs of a node.
enum class Role { kAgent, kWorkload };
std::string_view Name(Role role);

// InvalidArgument with the field that cannot be built: names that are not host names, addresses that are not IPv4, are
// used twice or lie outside the network of the first, paths that are not absolute.
Status CheckSpec(const v1::ShadowSpec& spec);

// /etc/hosts of every node.
std::string HostsFile(const v1::ShadowSpec& spec);

// The switch's end of the node's cable.
std::string PortName(int node_index);

// "10.77.0.10/24".
std::string AddressWithPrefix(const v1::ShadowSpec& spec, const v1::ShadowNode& node);

// PATH, HOME, LANG, the sanitizers' options if the caller has any, the role (by which the processes of the agent are
// told from those of the workload), and what the program asks for, which wins. `caller` holds NAME=value.
std::vector<std::string> ProgramEnvironment(std::span<const std::string> caller, const v1::Program& program, Role role);

}  // namespace triodrill::shadow
