// Which slots each domain of a partition holds. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/v1/drill.pb.h"

namespace triodrill {

using SlotSet = std::set<std::string>;

class Topology {
 public:
  explicit Topology(const v1::PartitionSpec& partition);

  // Every slot of the node; "NODE/0" if the partition does not know it.
  SlotSet SlotsOf(std::string_view node) const;

  // Whether `named` (a node or a slot) means this slot or the node that holds it.
  static bool Means(std::string_view named, std::string_view slot);

  // The smallest domain that holds all of `slots`. A lone slot that is all its node has counts as the node; all slots
  // of a job of several count as the job, whatever smaller domain happens to hold the whole job.
  v1::Domain LevelOf(const SlotSet& slots, const SlotSet& job) const;

 private:
  struct Domain {
    v1::Domain level;
    SlotSet slots;
  };
  std::vector<Domain> nodes_;
  std::vector<Domain> groups_;  // by level
  std::vector<std::string> node_names_;
};

}  // namespace triodrill
