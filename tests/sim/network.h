// The streams between the nodes and the coordinator: what is said arrives in its order, later, or not at all if the
// stream breaks before. A node that is cut off notices nothing; what is said then waits.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tests/sim/ground.h"
#include "triodrill/v1/fleet.pb.h"

namespace triodrill::sim {

class Network {
 public:
  struct Ends {
    std::function<void(int node)> node_connected;
    std::function<void(int node)> node_disconnected;
    std::function<void(int node, const v1::CoordinatorSays&)> to_node;
    std::function<void(int node, const v1::AgentSays&)> to_coordinator;
    std::function<void(int node, const char* problem)> coordinator_lost;
  };
  Network(Ground& ground, Ends ends) : ground_(ground), ends_(std::move(ends)) {}

  void Dial(int node);
  void Say(int node, const v1::AgentSays& says);        // by the node
  void Say(int node, const v1::CoordinatorSays& says);  // by the coordinator
  void NodeHangsUp(int node);
  void CoordinatorHangsUp(int node);
  void Break(int node);  // both notice
  void CutOff(int node);
  void Heal(int node);
  void CoordinatorIsGone() { coordinator_gone_ = true; }
  Nanos slow{0};  // added to what anything takes

 private:
  struct Stream {
    bool up = false;
    uint64_t number = 0;
    bool cut = false;
    std::vector<std::function<void()>> waiting;
    TimePoint last_to_node;
    TimePoint last_to_coordinator;
  };
  void Carry(int node, bool to_node, std::function<void()> what);
  Nanos Latency();

  Ground& ground_;
  const Ends ends_;
  std::map<int, Stream> streams_;
  bool coordinator_gone_ = false;
};

}  // namespace triodrill::sim
