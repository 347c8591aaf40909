#include "drills/shadow/plan.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kKept[] = {"HOME", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"};
constexpr int kMostNodes = 200;  // one bridge, one /24 by default, and no machine that would carry more

bool IsHostName(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; });
}

std::optional<uint32_t> Ipv4(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

Status Wrong(std::string_view what, std::string_view value, std::string_view hint) {
  return absl::InvalidArgumentError(Cat("shadow specification: ", what, " \"", value, "\": ", hint));
}

Status CheckProgram(const v1::ShadowNode& node, const v1::Program& program, Role role) {
  if (program.argv().empty()) {
    if (role == Role::kWorkload) return Ok();
    return Wrong("agent of node", node.name(), "has no argv; name the program to run");
  }
  for (const std::string* file : {&program.out(), &program.err()}) {
    if (!absl::StartsWith(*file, "/"))
      return Wrong(Cat(Name(role), " output of node ", node.name()), *file, "give an absolute path");
  }
  for (const std::string& entry : program.env()) {
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return Wrong("environment entry", entry, "write NAME=value");
  }
  return Ok();
}

}  // namespace

std::string_view Name(Role role) { return role == Role::kAgent ? "agent" : "workload"; }

Status CheckSpec(const v1::ShadowSpec& spec) {
  if (!absl::StartsWith(spec.state_dir(), "/")) return Wrong("state_dir", spec.state_dir(), "give an absolute path");
  if (spec.prefix_length() < 8 || spec.prefix_length() > 30) {
    return Wrong("prefix_length", Cat(spec.prefix_length()), "must lie in 8 to 30");
  }
  if (spec.nodes().empty() || spec.nodes_size() > kMostNodes) {
    return Wrong("nodes", Cat(spec.nodes_size()), Cat("must be 1 to ", kMostNodes));
  }
  const uint32_t mask = ~uint32_t{0} << (32 - spec.prefix_length());
  std::optional<uint32_t> network;
  std::set<std::string> names;
  std::set<uint32_t> addresses;
  for (const v1::ShadowNode& node : spec.nodes()) {
    if (!IsHostName(node.name()))
      return Wrong("node name", node.name(), "use lower-case letters, digits and '-', at most 63");
    if (!names.insert(node.name()).second) return Wrong("node name", node.name(), "is used twice");
    const std::optional<uint32_t> address = Ipv4(node.address());
    if (!address) return Wrong("address", node.address(), "is not an IPv4 address");
    if (!addresses.insert(*address).second) return Wrong("address", node.address(), "is used twice");
    if (!network) network = *address & mask;
    if ((*address & mask) != *network) {
      return Wrong("address", node.address(), Cat("lies outside the /", spec.prefix_length(), " of the first node"));
    }
    if ((*address & ~mask) == 0 || (*address & ~mask) == ~mask)
      return Wrong("address", node.address(), "is the network's own");
    TRIODRILL_RETURN_IF_ERROR(CheckProgram(node, node.agent(), Role::kAgent));
    TRIODRILL_RETURN_IF_ERROR(CheckProgram(node, node.workload(), Role::kWorkload));
  }
  return Ok();
}

std::string HostsFile(const v1::ShadowSpec& spec) {
  std::string text = "127.0.0.1 localhost\n";
  for (const v1::ShadowNode& node : spec.nodes()) Append(text, node.address(), " ", node.name(), "\n");
  return text;
}

std::string PortName(int node_index) { return Cat("v", node_index); }

std::string AddressWithPrefix(const v1::ShadowSpec& spec, const v1::ShadowNode& node) {
  return Cat(node.address(), "/", spec.prefix_length());
}

std::vector<std::string> ProgramEnvironment(std::span<const std::string> caller, const v1::Program& program,
                                            Role role) {
  std::map<std::string, std::string> values = {{"PATH", std::string(kPath)}, {"HOME", "/"}, {"LANG", "C.UTF-8"}};
  const auto set = [&values](std::string_view entry) {
    const size_t equals = entry.find('=');
    values[std::string(entry.substr(0, equals))] = std::string(entry.substr(equals + 1));
  };
  for (const std::string& entry : caller) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (std::find(std::begin(kKept), std::end(kKept), name) != std::end(kKept)) set(entry);
  }
  for (const std::string& entry : program.env()) set(entry);
  values["TRIODRILL_SHADOW_ROLE"] = std::string(Name(role));
  std::vector<std::string> environment;
  for (const auto& [name, value] : values) environment.push_back(Cat(name, "=", value));
  return environment;
}

}  // namespace triodrill::shadow
