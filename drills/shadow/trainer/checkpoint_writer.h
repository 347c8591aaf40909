// The second phase of a checkpoint: a thread that puts host copies on disk while the training goes on. Owned by the
// program; told by the training thread. A disk that fails costs the checkpoint, never the training.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "drills/shadow/protocol/messages.h"
#include "drills/shadow/trainer/checkpoint.h"

namespace triodrill::shadow::trainer {

class CheckpointWriter {
 public:
  // `report` is called on the writer's thread.
  CheckpointWriter(int keep, std::function<void(const Saved&)> report);
  ~CheckpointWriter();  // finishes what it is at, drops what waits

  // One copy waits at most: a newer one takes its place, and the older is reported as failed.
  void Persist(const CheckpointIdentity& identity, State copy);
  // Every shard of `step` is on disk: moves `latest`, then reports it durable and drops old steps.
  void Publish(int64_t step);
  // The newest step that was put on disk since the last Restart; -1: none.
  int64_t durable();
  // A new epoch: drops what waits; what was on disk before is not spoken of any more.
  void Restart();

 private:
  struct Copy {
    CheckpointIdentity identity;
    State state;
  };
  void Run();
  void Save(const Copy& copy, uint64_t epoch);
  void MakeLatest(int64_t step);

  const int keep_;
  const std::function<void(const Saved&)> report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Copy> waiting_;
  std::optional<int64_t> to_publish_;
  int64_t durable_ = -1;
  uint64_t epoch_ = 0;
  bool stop_ = false;
  std::thread thread_;  // the last: starts when the others are there
};

}  // namespace triodrill::shadow::trainer
