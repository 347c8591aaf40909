// Events of a fleet, in their order, to be waited for: the test fails if what it waits for does not come.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "coordinator/fleet/fleet.h"

namespace triodrill::agent {

using fleet::AgentEvent;
using fleet::Fleet;
using Kind = AgentEvent::Kind;

// What a test waits for is there within this, or the test fails.
inline constexpr auto kPatience = std::chrono::seconds(20);

class Inbox {
 public:
  void Put(AgentEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    came_.notify_all();
  }
  // The next event for which `wanted` holds; those before it are passed over.
  AgentEvent Await(const std::function<bool(const AgentEvent&)>& wanted) {
    std::unique_lock lock(mutex_);
    size_t from = next_;
    const bool came = came_.wait_for(lock, kPatience, [&] {
      for (; from < events_.size(); ++from) {
        if (wanted(events_[from])) return true;
      }
      return false;
    });
    if (!came) {
      ADD_FAILURE() << "what was waited for did not come";
      return {};
    }
    next_ = from + 1;
    return events_[from];
  }
  AgentEvent Await(Kind kind) {
    return Await([kind](const AgentEvent& event) { return event.kind == kind; });
  }
  AgentEvent Await(bool (v1::AgentSays::*has)() const) {
    return Await([has](const AgentEvent& event) { return event.kind == Kind::kSaid && (event.said.*has)(); });
  }
  size_t Count(Kind kind) {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(
        std::count_if(events_.begin(), events_.end(), [kind](const AgentEvent& one) { return one.kind == kind; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<AgentEvent> events_;
  size_t next_ = 0;
};

}  // namespace triodrill::agent
