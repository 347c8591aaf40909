#include "drills/shadow/trainer/checkpoint_writer.h"

#include <utility>

#include "drills/shadow/trainer/checkpoint_store.h"

namespace triodrill::shadow::trainer {

CheckpointWriter::CheckpointWriter(int keep, std::function<void(const Saved&)> report)
    : keep_(keep), report_(std::move(report)), thread_([this] { Run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CheckpointWriter::Persist(const CheckpointIdentity& identity, State copy) {
  std::optional<Copy> overtaken;
  {
    const std::lock_guard lock(mutex_);
    overtaken = std::exchange(waiting_, Copy{identity, std::move(copy)});
    changed_.notify_all();
  }
  if (overtaken) report_({overtaken->state.step, "failed", "the disk is slower than the checkpoints come"});
}

void CheckpointWriter::Publish(int64_t step) {
  const std::lock_guard lock(mutex_);
  to_publish_ = step;
  changed_.notify_all();
}

int64_t CheckpointWriter::durable() {
  const std::lock_guard lock(mutex_);
  return durable_;
}

void CheckpointWriter::Restart() {
  const std::lock_guard lock(mutex_);
  waiting_.reset();
  to_publish_.reset();
  durable_ = -1;
  ++epoch_;
}

void CheckpointWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || waiting_ || to_publish_; });
    if (stop_) return;
    const std::optional<int64_t> publish = std::exchange(to_publish_, std::nullopt);
    const std::optional<Copy> copy = std::exchange(waiting_, std::nullopt);
    const uint64_t epoch = epoch_;
    lock.unlock();
    if (publish) MakeLatest(*publish);
    if (copy) Save(*copy, epoch);
    lock.lock();
  }
}

void CheckpointWriter::Save(const Copy& copy, uint64_t epoch) {
  const Status saved = WriteShard(copy.identity, copy.state);
  if (!saved.ok()) {
    report_({copy.state.step, "failed", std::string(saved.message())});
    return;
  }
  const std::lock_guard lock(mutex_);
  if (epoch == epoch_) durable_ = copy.state.step;
}

void CheckpointWriter::MakeLatest(int64_t step) {
  const Status moved = MoveLatest(step);
  if (!moved.ok()) {
    report_({step, "failed", std::string(moved.message())});
    return;
  }
  report_({step, "durable", ""});
  DropOldSteps(step, keep_);
}

}  // namespace triodrill::shadow::trainer
