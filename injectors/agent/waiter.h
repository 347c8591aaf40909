// Waits for an absolute instant or for somebody to call, whichever comes first. One thread waits, any may call.
#pragma once

#include <atomic>
#include <optional>

#include "injectors/agent/events.h"
#include "injectors/os/fd.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::agent {

class Waiter {
 public:
  static Result<Waiter> Make(Clock& clock);
  Waiter(Waiter&& other) noexcept;

  // Returns at `wake` (a timer of the kernel; a precise one is met by waking early and spinning), or when called.
  void Wait(const std::optional<Wake>& wake);

  void Call();

 private:
  Waiter(Clock& clock, UniqueFd timer, UniqueFd call);
  // False if called before the time.
  bool Sleep(std::optional<TimePoint> until);

  Clock& clock_;
  UniqueFd timer_;
  UniqueFd call_;
  std::atomic<bool> called_ = false;
};

// The fire must not wait behind other work of the node. Refused without CAP_SYS_NICE: then the shot is only less exact,
// and says so by itself. Children do not inherit it.
Status BecomeRealTime();

}  // namespace triodrill::agent
