// The job and its pipeline in a simulated world: steps as long as every member is well; else somebody notices, takes a
// member out, and the job goes on without it. Members come back once they are well.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/coordinator.h"
#include "tests/sim/ground.h"
#include "tests/sim/node.h"

namespace triodrill::sim {

class Job {
 public:
  Job(Ground& ground, std::vector<std::unique_ptr<Node>>& nodes, Coordinator& coordinator);
  void Start();
  void Restart();      // every rank that is gone is there again
  bool blind = false;  // the pipeline notices nothing

 private:
  void Tick();
  void Notice(uint64_t incident);
  void ComeBack();
  bool Well(int node) const;

  Ground& ground_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  Coordinator& coordinator_;
  std::set<int> members_;
  int64_t step_ = 0;
  uint64_t incident_ = 0;
  bool stalled_ = false;
  std::vector<TimePoint> well_since_;
};

}  // namespace triodrill::sim
