// The one place of injectors/ that reads a clock or waits. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "triodrill/time.h"

namespace triodrill {

// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

// CLOCK_BOOTTIME: goes on while the machine sleeps; what an undo record's expiry is written in.
Nanos SinceBoot();

// CLOCK_REALTIME, for people; decides nothing.
Nanos WallTime();

// The same in whole seconds, for what was signed elsewhere and expires; nullopt where the clock cannot be read.
std::optional<int64_t> WallSeconds();

// Looks at `done` until it says true, for at most `limit`; false if it never did. For states of the kernel that have no
// event to wait on (/proc, cgroup files): there is a millisecond between two looks. Always looks at least once.
bool LookUntil(Nanos limit, const std::function<bool()>& done);

// Until `fd` is readable, for at most `limit`. A pidfd is readable once its process has ended.
bool WaitReadable(int fd, Nanos limit);

}  // namespace triodrill
