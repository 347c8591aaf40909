#include "drills/shadow/trainer/outbox.h"

#include <unistd.h>

namespace triodrill::shadow::trainer {
namespace {

constexpr size_t kLongestLine = 200;

}  // namespace

void Outbox::Post(const FromTrainer& message) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push(Encode(message));
  }
  const uint64_t one = 1;
  // Fails only if the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t written = write(wakeup_, &one, sizeof one);
}

std::optional<std::string> Outbox::Front() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) return std::nullopt;
  return messages_.front();
}

void Outbox::Pop() {
  const std::lock_guard lock(mutex_);
  messages_.pop();
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kIdle:
      return "idle";
    case Phase::kJoin:
      return "join";
    case Phase::kCompute:
      return "compute";
    case Phase::kForward:
      return "forward";
    case Phase::kReduce:
      return "reduce";
    case Phase::kVerify:
      return "verify";
    case Phase::kApply:
      return "apply";
    case Phase::kCheckpoint:
      return "checkpoint";
    case Phase::kHalted:
      return "halted";
  }
  return "idle";
}

void Vitals::SetLastLine(std::string_view line) {
  const std::lock_guard lock(mutex_);
  last_line_ = line.substr(0, kLongestLine);
}

Beat Vitals::Snapshot() {
  Beat beat;
  beat.step = step;
  beat.phase = PhaseName(phase);
  beat.sent_bytes = sent_bytes;
  beat.received_bytes = received_bytes;
  beat.compute_ns = compute_ns;
  beat.wait_ns = wait_ns;
  beat.gradient_norm = gradient_norm;
  beat.loss = loss;
  const std::lock_guard lock(mutex_);
  beat.last_line = last_line_;
  return beat;
}

}  // namespace triodrill::shadow::trainer
