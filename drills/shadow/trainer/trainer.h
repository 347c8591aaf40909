// The training thread: waits for an order, joins, restores, trains until a collective breaks, a check does not hold, or
// a newer order comes; then waits again, its state kept in memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "drills/shadow/trainer/checkpoint_writer.h"
#include "drills/shadow/trainer/options.h"
#include "drills/shadow/trainer/orders.h"
#include "drills/shadow/trainer/outbox.h"
#include "drills/shadow/trainer/progress_log.h"
#include "drills/shadow/trainer/shown_rank.h"
#include "drills/shadow/trainer/step.h"

namespace triodrill::shadow::trainer {

class Trainer {
 public:
  Trainer(const Options& options, Clock& clock, Orders& orders, MeshGuard& guard, Outbox& outbox, Vitals& vitals,
          ProgressLog& log, const gpu::HeldGpu* device, ShownRank shown);
  // Until an order to stop.
  void Run();

 private:
  // A copy in host memory that waits for the next step's word on the state it was taken from.
  struct HostCopy {
    State state;
    uint64_t hash = 0;
  };

  void OpenGpu();
  void Obey(const Join& join);
  Status JoinAndTrain(const Join& join);
  void BecomeRank(int rank);
  void Fail(int epoch, const Status& status);
  [[noreturn]] void EndWithoutGpu(const Status& status);
  Status Train();
  void SayFindings(int64_t step, const std::vector<Finding>& findings);
  void AfterStep(const StepOutcome& outcome);
  void TakeCheckpoint();
  void PersistIfAgreed(const std::vector<Record>& records);
  void PublishIfDurable(const std::vector<Record>& records);
  bool WritesCheckpoints() const { return memory_.Replica() == 0; }

  const Options& options_;
  Clock& clock_;
  Orders& orders_;
  MeshGuard& guard_;
  Outbox& outbox_;
  Vitals& vitals_;
  ProgressLog& log_;
  RankMemory memory_;
  ShownRank shown_;
  std::optional<WorkloadLink> workload_;  // a standby has none: its page would have no rank
  const gpu::HeldGpu* const device_;      // null: none
  SimulatedKernel kernel_;
  CheckpointWriter writer_;
  // Stands until the next order, also after a finding: a rank that closed its connections at once could cut off another
  // one's share of the very records that hold the finding.
  std::unique_ptr<Mesh> mesh_;
  std::optional<HostCopy> host_copy_;
  int64_t published_ = -1;  // newest step this rank had `latest` moved to in this epoch
  int epoch_ = -1;
};

}  // namespace triodrill::shadow::trainer
