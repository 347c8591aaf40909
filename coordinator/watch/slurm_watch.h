// Watches a Slurm as a pipeline's profile says: what its controller answers about nodes and jobs, asked again and again
// with `sinfo --json` and `squeue --json`. Slurm is never told anything: no other program is started. Owned by whoever
// runs a drill. Threads: one that asks, and hands what it has seen to the sink. A crash leaves nothing behind.
//
// Timing: SlurmNodeLooks and SlurmJobLooks. What holds when watching begins is old, and is never told.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/os/ask_program.h"
#include "coordinator/watch/observed.h"
#include "coordinator/watch/outage.h"
#include "coordinator/watch/slurm_changes.h"
#include "coordinator/watch/slurm_matcher.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::watch {

class SlurmWatch {
 public:
  // Null if the profile has no `slurm`. Fails with Unavailable if the controller does not answer now, NotFound if a
  // node of the partition is none of Slurm's partition, and for a profile that cannot be watched.
  static Result<std::unique_ptr<SlurmWatch>> Start(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition,
                                                   Clock& clock, ObservedSink sink);
  ~SlurmWatch();  // waits for the answer that is under way, no longer than the profile's timeout
  SlurmWatch(const SlurmWatch&) = delete;
  SlurmWatch& operator=(const SlurmWatch&) = delete;

  // Any thread. Empty while Slurm answers.
  std::vector<std::string> Problems() const;

  // Any thread: who was out of service at the last look.
  std::vector<std::string> OutOfServiceNow() const;

 private:
  SlurmWatch(v1::Slurm slurm, SlurmMatcher matcher, Clock& clock, ObservedSink sink);
  Status Begin(const v1::PartitionSpec& partition);
  void Run(const std::stop_token& stop);
  Result<coordinator::Reply> Ask(const char* command) const;
  Status AskNodes();
  Status AskJobs();
  void HandOn(const std::vector<SlurmChange>& changes, const char* command);
  void Settle(Outage& outage, const Status& status);

  const v1::Slurm slurm_;
  const SlurmMatcher matcher_;
  const Nanos timeout_;
  Clock& clock_;
  const ObservedSink sink_;
  SlurmNodeLooks node_looks_;  // the thread's, once it runs
  SlurmJobLooks job_looks_;    // likewise

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<SlurmNode> nodes_;         // at the last look; under mutex_
  std::unique_ptr<Outage> node_outage_;  // under mutex_, likewise the next
  std::unique_ptr<Outage> job_outage_;   // null: no signal needs jobs

  std::jthread thread_;  // below: it uses everything above
};

}  // namespace triodrill::watch
