#include "drills/shadow/trainer/orders.h"

#include <utility>

namespace triodrill::shadow::trainer {

void Orders::Give(ToTrainer order) {
  const std::lock_guard lock(mutex_);
  newest_ = std::move(order);
  ++given_;
  changed_.notify_all();
}

void Orders::IfBehind(const std::function<void()>& interrupt) {
  const std::lock_guard lock(mutex_);
  if (given_ > taken_ && !waiting_) interrupt();
}

ToTrainer Orders::Take() {
  std::unique_lock lock(mutex_);
  waiting_ = true;
  changed_.wait(lock, [&] { return given_ > taken_; });
  waiting_ = false;
  taken_ = given_;
  return newest_;
}

bool Orders::Superseded() {
  const std::lock_guard lock(mutex_);
  return given_ > taken_;
}

bool Orders::WaitUntil(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, deadline, [&] { return given_ > taken_; });
}

}  // namespace triodrill::shadow::trainer
