// The order in force: given by the control thread, carried out by the training thread. The newest wins; what is under
// way for an older one is to be dropped.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "drills/shadow/protocol/messages.h"
#include "triodrill/time.h"

namespace triodrill::shadow::trainer {

class Orders {
 public:
  // ---- control thread

  void Give(ToTrainer order);
  // Calls `interrupt` if the training thread is still at an older order. The training thread cannot take the new one
  // meanwhile, so that what it opens for that is out of the interruption's reach.
  void IfBehind(const std::function<void()>& interrupt);

  // ---- training thread

  // Waits for an order newer than the one taken last.
  ToTrainer Take();
  // There is a newer order than the one taken last.
  bool Superseded();
  // False if a newer order came first.
  bool WaitUntil(TimePoint deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  ToTrainer newest_;
  uint64_t given_ = 0;
  uint64_t taken_ = 0;
  bool waiting_ = false;  // in Take: at nothing
};

}  // namespace triodrill::shadow::trainer
