#include "coordinator/plan/select.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"

namespace triodrill::plan {
namespace {

// The nodes that the selector names, or all of them; never a spare.
Result<std::vector<v1::Node>> Nodes(const v1::Target& target, const v1::PartitionSpec& partition) {
  const std::set<std::string> spares(partition.spares().begin(), partition.spares().end());
  const std::set<std::string> wanted(target.nodes().begin(), target.nodes().end());
  std::vector<v1::Node> nodes;
  std::set<std::string> found;
  for (const v1::Node& node : partition.nodes()) {
    if (!wanted.empty() && !wanted.contains(node.name())) continue;
    found.insert(node.name());
    if (spares.contains(node.name())) {
      if (wanted.empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat("node '", node.name(), "' is a hot spare: no rank runs on it"));
    }
    nodes.push_back(node);
  }
  for (const std::string& name : wanted) {
    if (!found.contains(name)) {
      return absl::NotFoundError(absl::StrCat("the partition has no node '", name, "'"));
    }
  }
  return nodes;
}

// Ranks of the job: the slots of the nodes that are no spares.
int World(const v1::PartitionSpec& partition) {
  const std::set<std::string> spares(partition.spares().begin(), partition.spares().end());
  int world = 0;
  for (const v1::Node& node : partition.nodes()) world += spares.contains(node.name()) ? 0 : std::max(1, node.slots());
  return world;
}

}  // namespace

Result<std::vector<Aim>> Candidates(const v1::Target& target, const v1::PartitionSpec& partition) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<v1::Node> nodes, Nodes(target, partition));
  std::vector<Aim> aims;
  // Where there are spares, a rank may have moved by the time that a trial begins: it is aimed at by its number, and
  // where it lives is looked up then.
  const bool may_move = partition.spares_size() > 0 && target.nodes_size() == 0;
  const int world = World(partition);
  if (target.role() == v1::LINK && may_move) {
    for (int rank = 0; rank < world; ++rank) aims.push_back({.rank = rank, .interface = target.interface()});
  } else if (target.role() == v1::LINK) {
    for (const v1::Node& node : nodes) aims.push_back({.node = node.name(), .interface = target.interface()});
  } else if (target.ranks_size() > 0) {
    for (const int rank : target.ranks()) {
      if (rank >= world) {
        return absl::NotFoundError(absl::StrCat("the partition holds ", world, " ranks; there is no rank ", rank));
      }
      aims.push_back({.rank = rank});
    }
  } else if (may_move) {
    for (int rank = 0; rank < world; ++rank) aims.push_back({.rank = rank});
  } else {
    for (const v1::Node& node : nodes) {
      for (int i = 0; i < std::max(1, node.slots()); ++i) aims.push_back({.node = node.name(), .local_rank = i});
    }
  }
  if (aims.empty()) return absl::NotFoundError("the selector matches nothing on this partition");
  return aims;
}

std::vector<Aim> Choose(const v1::Target& target, std::vector<Aim> candidates, Dice& dice) {
  if (target.pick() == 0) return candidates;
  dice.Shuffle(candidates);
  candidates.resize(std::min<size_t>(candidates.size(), static_cast<size_t>(target.pick())));
  return candidates;
}

}  // namespace triodrill::plan
