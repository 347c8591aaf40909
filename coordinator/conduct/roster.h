// What is known of each node: what its agent said of itself, which ranks and links it found there, its clock. Fed with
// everything that agents say; a value, no thread of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/fleet/fleet.h"
#include "coordinator/gate/gate.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill::conduct {

struct NodeRecord {
  std::optional<v1::Hello> hello;  // while the agent is attached
  std::optional<fleet::OffsetBounds> offset;
  bool inventory_known = false;
  std::map<int, v1::RankFound> ranks;              // by local rank: the newest process there
  std::map<std::string, v1::LinkFound> links;      // by name
  std::optional<std::vector<v1::OpenFault>> open;  // newest answer; none since it was last asked
};

class Roster {
 public:
  explicit Roster(const v1::PartitionSpec& partition);

  void Take(const fleet::AgentEvent& event);

  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }
  const NodeRecord* Find(const std::string& node) const;
  // Before asking again: an old answer must not pass for a new one.
  void ForgetOpen();

  // The node on which that rank runs now; "" if none does, or several say so.
  std::string NodeOfRank(int rank) const;

  // Where a shot would go now.
  gate::Resolved Resolve(const v1::Shot& shot, const std::string& name) const;

 private:
  std::map<std::string, NodeRecord> nodes_;
};

}  // namespace triodrill::conduct
