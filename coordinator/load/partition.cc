#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_split.h"
#include "coordinator/load/rules.h"
#include "triodrill/signed/approval.h"
#include "triodrill/slot.h"
#include "triodrill/text.h"

namespace triodrill::load {
namespace {

// The embedded network is a /24.
constexpr uint32_t kHostMask = 0xFF;

// Four decimal numbers, without leading zeros: what some readers take for octal is taken by none here.
std::optional<uint32_t> ParseIpv4(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '.');
  if (parts.size() != 4) return std::nullopt;
  uint32_t address = 0;
  for (const std::string& part : parts) {
    uint32_t byte = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), byte);
    const bool whole = error == std::errc() && end == part.data() + part.size() && byte <= 255;
    if (!whole || (part.size() > 1 && part[0] == '0')) return std::nullopt;
    address = address << 8 | byte;
  }
  return address;
}

void CheckAddress(const v1::Node& node, const std::string& path, std::optional<uint32_t>& network,
                  std::map<uint32_t, std::string>& owners, const Complaints& complaints) {
  const auto address = ParseIpv4(node.address());
  if (!address) {
    return complaints.Add(path, Cat("`", node.address(), "` is not an IPv4 address"), "write it like 10.77.0.10");
  }
  const auto [owner, fresh] = owners.emplace(*address, node.name());
  if (!fresh) {
    complaints.Add(path, Cat("`", owner->second, "` has the address ", node.address(), " already"),
                   "give each its own");
  }
  const uint32_t host = *address & kHostMask;
  if (host == 0 || host == kHostMask) {
    complaints.Add(path, Cat(node.address(), " is the network's own address, or its broadcast"), "use .1 to .254");
  }
  if (!network) network = *address & ~kHostMask;
  if (*network != (*address & ~kHostMask)) {
    complaints.Add(path, Cat(node.address(), " is outside the network of the first node"), "keep all in one /24");
  }
}

void CheckNodes(const v1::PartitionSpec& spec, const Complaints& complaints) {
  std::set<std::string> names;
  std::optional<uint32_t> network;
  std::map<uint32_t, std::string> owners;
  int with_address = 0;
  for (int i = 0; i < spec.nodes_size(); ++i) {
    const v1::Node& node = spec.nodes(i);
    const std::string path = Cat("spec.nodes[", i, "]");
    if (!names.insert(node.name()).second) {
      complaints.Add(path + ".name", Cat("two nodes are called `", node.name(), "`"), "give each its own name");
    }
    if (node.address().empty()) continue;
    ++with_address;
    CheckAddress(node, path + ".address", network, owners, complaints);
  }
  for (int i = 0; with_address > 0 && i < spec.nodes_size(); ++i) {
    if (!spec.nodes(i).address().empty()) continue;
    complaints.Add(Cat("spec.nodes[", i, "]"), "a node without an address among nodes with one",
                   "give all of them an address, or none");
  }
}

const v1::Node* FindNode(const v1::PartitionSpec& spec, const std::string& name) {
  for (const v1::Node& node : spec.nodes()) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}

void CheckMember(const v1::PartitionSpec& spec, const std::string& member, const std::string& path,
                 const Complaints& complaints) {
  const auto slot = ParseSlot(member);
  const v1::Node* node = FindNode(spec, slot ? slot->node : member);
  if (node == nullptr) {
    complaints.Add(path, Cat("no node for `", member, "`"), "name a node of this partition, or a slot like n0/1");
  } else if (slot && slot->local_rank >= node->slots()) {
    complaints.Add(path, Cat("`", node->name(), "` has ", node->slots(), " slots, so there is no `", member, "`"),
                   Cat("slots are counted from 0; the last is ", node->name(), "/", node->slots() - 1));
  }
}

void CheckTopology(const v1::PartitionSpec& spec, const Complaints& complaints) {
  std::set<std::string> names;
  for (int i = 0; i < spec.topology_size(); ++i) {
    const v1::Group& group = spec.topology(i);
    const std::string path = Cat("spec.topology[", i, "]");
    if (!names.insert(group.name()).second) {
      complaints.Add(path + ".name", Cat("two domains are called `", group.name(), "`"), "give each its own name");
    }
    if (group.level() != v1::DOMAIN_SEGMENT && group.level() != v1::DOMAIN_GROUP) {
      complaints.Add(path + ".level", "only segments and groups are listed here", "write level: segment or group");
    }
    CheckUnique(group.members(), path + ".members", "the member", complaints);
    for (int m = 0; m < group.members_size(); ++m) {
      CheckMember(spec, group.members(m), Cat(path, ".members[", m, "]"), complaints);
    }
  }
}

void CheckSpares(const v1::PartitionSpec& spec, const Complaints& complaints) {
  CheckUnique(spec.spares(), "spec.spares", "the spare", complaints);
  for (int i = 0; i < spec.spares_size(); ++i) {
    if (FindNode(spec, spec.spares(i)) != nullptr) continue;
    complaints.Add(Cat("spec.spares[", i, "]"), Cat("no node is called `", spec.spares(i), "`"),
                   "name a node of this partition");
  }
  if (spec.spares_size() > 0 && spec.spares_size() >= spec.nodes_size()) {
    complaints.Add("spec.spares", "every node is a spare", "leave one node at least for the job");
  }
}

void CheckLimits(const v1::PartitionSpec& spec, const Complaints& complaints) {
  const v1::Limits& limits = spec.limits();
  const int nodes = spec.nodes_size();
  const std::string alive = "spec.limits.min_alive_nodes";
  const std::string faulted = "spec.limits.max_faulted_nodes";
  if (limits.min_alive_nodes() >= nodes) {
    complaints.Add(complaints.places.Written(alive) ? alive : "spec.nodes",
                   Cat("of ", nodes, " nodes ", limits.min_alive_nodes(), " must stay untouched: no drill could run"),
                   "lower limits.min_alive_nodes");
  }
  if (limits.max_faulted_nodes() > nodes) {
    complaints.Add(faulted, Cat("`max_faulted_nodes` is ", limits.max_faulted_nodes(), " of ", nodes, " nodes"),
                   "no more than there are");
  }
}

// The plan's digest holds the keys themselves: a path would hold whatever lies there some day.
void CheckApprovers(const v1::PartitionSpec& spec, const Complaints& complaints) {
  for (int i = 0; i < spec.approvers_size(); ++i) {
    if (!spec.approvers(i).key().starts_with('/')) continue;
    return complaints.Add(Cat("spec.approvers[", i, "].key"), "a path, and here the key itself is wanted",
                          "write the line that `triodrill keygen` printed");
  }
  const Result<ApprovalRules> rules = ApprovalRulesOf(spec);
  if (!rules.ok()) {
    complaints.Add(spec.approvers_size() > 0 ? "spec.approvers" : "spec.approvals",
                   std::string(rules.status().message()));
  }
}

}  // namespace

void CheckPartition(const v1::Partition& partition, const Complaints& complaints) {
  const v1::PartitionSpec& spec = partition.spec();
  CheckPlainMetadata(complaints);
  if (spec.engine() != "local") {
    complaints.Add("spec.engine", Cat("no engine is called `", spec.engine(), "`"), "known: local");
  }
  CheckNodes(spec, complaints);
  CheckTopology(spec, complaints);
  CheckSpares(spec, complaints);
  CheckLimits(spec, complaints);
  CheckApprovers(spec, complaints);
}

}  // namespace triodrill::load
