// What is to be told to the launcher, and what a heartbeat says. Written by all threads, sent by the control thread.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <string_view>

#include "drills/shadow/protocol/messages.h"

namespace triodrill::shadow::trainer {

// Messages in the order in which they were posted. `wakeup` is an eventfd, the caller's; it is written with each.
class Outbox {
 public:
  explicit Outbox(int wakeup) : wakeup_(wakeup) {}
  void Post(const FromTrainer& message);
  // The oldest, to be dropped with Pop once it is sent.
  std::optional<std::string> Front();
  void Pop();

 private:
  const int wakeup_;
  std::mutex mutex_;
  std::queue<std::string> messages_;
};

// Where the training thread is.
enum class Phase { kIdle, kJoin, kCompute, kForward, kReduce, kVerify, kApply, kCheckpoint, kHalted };
std::string_view PhaseName(Phase phase);

class Vitals {
 public:
  std::atomic<int64_t> step{0};
  std::atomic<Phase> phase{Phase::kIdle};
  std::atomic<uint64_t> sent_bytes{0};
  std::atomic<uint64_t> received_bytes{0};
  std::atomic<int64_t> compute_ns{0};
  std::atomic<int64_t> wait_ns{0};
  std::atomic<double> gradient_norm{0};
  std::atomic<double> loss{0};

  void SetLastLine(std::string_view line);
  Beat Snapshot();

 private:
  std::mutex mutex_;
  std::string last_line_;
};

}  // namespace triodrill::shadow::trainer
