#include "drills/shadow/pipeline/topology.h"

#include <algorithm>

#include "triodrill/schema/json.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

std::set<Slot> Expand(const v1::Group& group, const Topology& topology) {
  std::set<Slot> slots;
  for (const std::string& member : group.members()) {
    if (const auto slot = ParseSlot(member)) {
      slots.insert(*slot);
    } else if (const TopologyNode* node = topology.Find(member)) {
      for (int i = 0; i < node->slots; ++i) slots.insert({node->name, i});
    }
  }
  return slots;
}

}  // namespace

std::vector<Slot> Topology::ServingSlots() const {
  std::vector<Slot> slots;
  for (const TopologyNode& node : nodes) {
    for (int i = 0; !node.spare && i < node.slots; ++i) slots.push_back({node.name, i});
  }
  return slots;
}

const TopologyNode* Topology::Find(std::string_view node) const {
  for (const TopologyNode& one : nodes) {
    if (one.name == node) return &one;
  }
  return nullptr;
}

std::vector<int> Topology::DataParallelGroup(int rank) const {
  std::vector<int> ranks;
  for (int other = rank % tensor_parallel; other < world; other += tensor_parallel) ranks.push_back(other);
  return ranks;
}

Result<Topology> TopologyOf(const v1::PartitionSpec& partition) {
  Topology topology;
  const auto is_spare = [&](const std::string& name) {
    return std::find(partition.spares().begin(), partition.spares().end(), name) != partition.spares().end();
  };
  int serving_slots = 0;
  for (const v1::Node& node : partition.nodes()) {
    const TopologyNode made{node.name(), std::max(1, node.slots()), node.address(), is_spare(node.name())};
    if (made.address.empty()) {
      return absl::InvalidArgumentError(Cat("partition: node ", made.name, " has no address; give it one"));
    }
    if (!made.spare && serving_slots != 0 && serving_slots != made.slots) {
      return absl::InvalidArgumentError(
          Cat("partition: node ", made.name, " has ", made.slots, " slots and another has ", serving_slots,
              "; the job's tensor-parallel group is the slots of one node, so give all the same number"));
    }
    if (!made.spare) {
      serving_slots = made.slots;
      topology.world += made.slots;
    }
    topology.nodes.push_back(made);
  }
  if (topology.world == 0) return absl::InvalidArgumentError("partition: no node that is not a spare; add one");
  topology.tensor_parallel = serving_slots;
  for (const v1::Group& group : partition.topology()) {
    if (group.level() == v1::DOMAIN_GROUP) topology.groups.push_back({group.name(), Expand(group, topology)});
  }
  return topology;
}

Result<Topology> ParseTopology(std::string_view json, std::string_view file) {
  v1::Partition partition;
  const Status read = FromJson(json, partition);
  if (!read.ok()) return absl::InvalidArgumentError(Cat(file, ":1:1: error: ", read.message()));
  Result<Topology> topology = TopologyOf(partition.spec());
  if (!topology.ok()) return absl::InvalidArgumentError(Cat(file, ":1:1: error: ", topology.status().message()));
  return topology;
}

}  // namespace triodrill::shadow::pipeline
