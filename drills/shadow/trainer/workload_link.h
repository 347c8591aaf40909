// The job's side of include/triodrill/workload.h: which tensors a drill may know, and when a phase begins. Used by the
// training thread only.
#pragma once

#include "drills/shadow/trainer/rank_memory.h"

namespace triodrill::shadow::trainer {

class WorkloadLink {
 public:
  // Makes the page and registers the tensors of `memory`, which must not move. A process does it once.
  explicit WorkloadLink(RankMemory& memory);
  ~WorkloadLink();
  WorkloadLink(const WorkloadLink&) = delete;
  WorkloadLink& operator=(const WorkloadLink&) = delete;

  void SetRank(int rank, int world);
  void Progress(int64_t step);

  void Compute();
  void Gradients();
  void Reduced();
  void Applied();
  void CheckpointHost();
  void CheckpointPersist();

 private:
  int compute_;
  int gradients_;
  int reduced_;
  int applied_;
  int checkpoint_host_;
  int checkpoint_persist_;
};

}  // namespace triodrill::shadow::trainer
