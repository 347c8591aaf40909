// Nodes, slots and parallel groups of the partition, as the pipeline needs them. A value, made once from the partition.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/slot.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::shadow::pipeline {

struct TopologyNode {
  std::string name;
  int slots = 1;
  std::string address;
  bool spare = false;
};

struct ParallelGroup {
  std::string name;
  std::set<Slot> members;
};

struct Topology {
  std::vector<TopologyNode> nodes;  // in the order of the partition
  std::vector<ParallelGroup> groups;
  int world = 0;            // ranks: slots of the nodes that are not spare
  int tensor_parallel = 1;  // slots of a serving node

  std::vector<Slot> ServingSlots() const;  // of rank 0, 1, …
  const TopologyNode* Find(std::string_view node) const;
  // Rank r's data-parallel group: the ranks of the same shard.
  std::vector<int> DataParallelGroup(int rank) const;
};

// Refused: no serving node, a serving node without address, serving nodes with different numbers of slots.
Result<Topology> TopologyOf(const v1::PartitionSpec& partition);

// JSON of triodrill.v1.Partition.
Result<Topology> ParseTopology(std::string_view json, std::string_view file);

}  // namespace triodrill::shadow::pipeline
