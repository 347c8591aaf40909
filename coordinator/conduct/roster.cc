#include "coordinator/conduct/roster.h"

#include "absl/strings/str_cat.h"
#include "triodrill/slot.h"

namespace triodrill::conduct {
namespace {

// Aimed at one rank, these hit all ranks of its node: they go with their launcher, or with the node.
bool HitsTheWholeNode(const std::string& kind) {
  return kind == "process.exit_agent" || kind == "node.lost" || kind == "node.flapping";
}

}  // namespace

Roster::Roster(const v1::PartitionSpec& partition) {
  for (const v1::Node& node : partition.nodes()) nodes_[node.name()];
}

const NodeRecord* Roster::Find(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

void Roster::ForgetOpen() {
  for (auto& [name, node] : nodes_) node.open.reset();
}

void Roster::Take(const fleet::AgentEvent& event) {
  const auto found = nodes_.find(event.node);
  if (found == nodes_.end()) return;
  NodeRecord& node = found->second;
  if (event.kind == fleet::AgentEvent::Kind::kLost) {
    node = NodeRecord{};
    return;
  }
  node.offset = event.offset;
  switch (event.said.what_case()) {
    case v1::AgentSays::kHello:
      node.hello = event.said.hello();
      break;
    case v1::AgentSays::kOpenFaults:
      node.open.emplace(event.said.open_faults().open().begin(), event.said.open_faults().open().end());
      break;
    case v1::AgentSays::kInventory:
      node.inventory_known = true;
      node.ranks.clear();
      node.links.clear();
      for (const v1::RankFound& rank : event.said.inventory().ranks()) node.ranks[rank.local_rank()] = rank;
      for (const v1::LinkFound& link : event.said.inventory().links()) node.links[link.link().name()] = link;
      break;
    case v1::AgentSays::kProcess: {
      const v1::RankFound& rank = event.said.process().rank();
      if (event.said.process().change() == v1::PROCESS_APPEARED) {
        node.ranks[rank.local_rank()] = rank;
      } else {
        const auto known = node.ranks.find(rank.local_rank());
        const bool same = known != node.ranks.end() && known->second.process().pid() == rank.process().pid() &&
                          known->second.process().start_time_ticks() == rank.process().start_time_ticks();
        if (same) node.ranks.erase(known);
      }
      break;
    }
    case v1::AgentSays::kLink: {
      v1::LinkFound& link = node.links[event.said.link().link().name()];
      *link.mutable_link() = event.said.link().link();
      link.set_running(event.said.link().running());
      break;
    }
    default:
      break;
  }
}

std::string Roster::NodeOfRank(int rank) const {
  std::string found;
  for (const auto& [name, node] : nodes_) {
    for (const auto& [local_rank, one] : node.ranks) {
      if (one.rank() != rank) continue;
      if (!found.empty()) return "";
      found = name;
    }
  }
  return found;
}

gate::Resolved Roster::Resolve(const v1::Shot& shot, const std::string& name) const {
  gate::Resolved resolved;
  resolved.shot = name;
  if (shot.role() == v1::LINK) {
    resolved.node = shot.rank() >= 0 ? NodeOfRank(shot.rank()) : shot.node();
    if (resolved.node.empty()) {
      resolved.problem = absl::StrCat("no process is rank ", shot.rank(), " now");
      return resolved;
    }
    const NodeRecord* node = Find(resolved.node);
    const v1::LinkFound* link = nullptr;
    if (node != nullptr && node->links.contains(shot.interface())) link = &node->links.at(shot.interface());
    if (link == nullptr) {
      resolved.problem = absl::StrCat(resolved.node, " has no interface '", shot.interface(), "'");
    } else if (!link->running()) {
      resolved.problem = absl::StrCat(shot.interface(), " of ", resolved.node, " is already down");
    } else {
      *resolved.identity.mutable_link() = link->link();
    }
    return resolved;
  }
  for (const auto& [node_name, node] : nodes_) {
    for (const auto& [local_rank, found] : node.ranks) {
      const bool ours =
          shot.rank() >= 0 ? found.rank() == shot.rank() : node_name == shot.node() && local_rank == shot.local_rank();
      if (!ours) continue;
      if (!resolved.node.empty()) {
        resolved.problem = absl::StrCat("two processes claim to be rank ", shot.rank());
        return resolved;
      }
      resolved.node = node_name;
      if (!HitsTheWholeNode(shot.kind())) resolved.slot = Slot{node_name, local_rank}.Name();
      *resolved.identity.mutable_process() = found.process();
    }
  }
  if (resolved.node.empty()) {
    resolved.problem = shot.rank() >= 0 ? absl::StrCat("no process is rank ", shot.rank(), " now")
                                        : absl::StrCat("no rank runs at ", shot.node(), "/", shot.local_rank());
  }
  return resolved;
}

}  // namespace triodrill::conduct
