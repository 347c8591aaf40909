// What happens when, in one thread: the world's time goes from one thing to the next. Two things of one instant happen
// in the order in which they were asked for.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "triodrill/time.h"

namespace triodrill::sim {

class Schedule {
 public:
  TimePoint now() const { return now_; }
  void At(TimePoint when, std::function<void()> what) { due_.push({std::max(when, now_), next_++, std::move(what)}); }
  void In(Nanos later, std::function<void()> what) { At(now_ + later, std::move(what)); }

  // Everything up to `end`, which is the time then.
  void RunUntil(TimePoint end) {
    while (!due_.empty() && due_.top().when <= end) {
      const std::function<void()> what = std::move(const_cast<Due&>(due_.top()).what);
      now_ = due_.top().when;
      due_.pop();
      what();
    }
    now_ = std::max(now_, end);
  }

 private:
  struct Due {
    TimePoint when;
    uint64_t number;
    std::function<void()> what;
    friend bool operator<(const Due& a, const Due& b) {
      return std::pair(a.when, a.number) > std::pair(b.when, b.number);
    }
  };
  std::priority_queue<Due> due_;
  TimePoint now_{};
  uint64_t next_ = 0;
};

}  // namespace triodrill::sim
