// What reaches a run from other threads (agents' pump, log follower, monitoring, signals), in order of arrival. Any
// thread pushes, the shell alone pops. Bounded: a flood of lines may be dropped, and is counted; what agents say and an
// abort never are.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/conduct/event.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/watch/line.h"
#include "coordinator/watch/observed.h"

namespace triodrill::conduct {

using Arrival = std::variant<fleet::AgentEvent, std::vector<watch::Line>, std::vector<watch::Observed>, AbortAsked>;

class Inbox {
 public:
  void Push(Arrival arrival) {
    {
      const std::lock_guard lock(mutex_);
      if (arrivals_.size() >= kMost && std::holds_alternative<std::vector<watch::Line>>(arrival)) {
        dropped_ += static_cast<int64_t>(std::get<std::vector<watch::Line>>(arrival).size());
        return;
      }
      arrivals_.push_back(std::move(arrival));
    }
    ready_.notify_one();
  }

  // Everything that is there; waits at most `patience` for the first.
  std::deque<Arrival> Pop(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, patience, [&] { return !arrivals_.empty(); });
    return std::exchange(arrivals_, {});
  }

  // Lines lost since the last call.
  int64_t TakeDropped() {
    const std::lock_guard lock(mutex_);
    return std::exchange(dropped_, 0);
  }

 private:
  static constexpr size_t kMost = 100'000;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Arrival> arrivals_;
  int64_t dropped_ = 0;
};

}  // namespace triodrill::conduct
