// The machine's clocks: the only file of coordinator/ that reads the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "triodrill/time.h"

namespace triodrill::coordinator {

class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

// CLOCK_REALTIME in nanoseconds. For people and file names only: nothing is measured with it.
int64_t WallNanos();

// CLOCK_REALTIME in seconds, for what was signed elsewhere and expires; nullopt where it cannot be read.
std::optional<int64_t> WallSeconds();

// A deadline on CLOCK_REALTIME, for libraries that take no other; nothing is measured with it.
std::chrono::system_clock::time_point WallDeadline(Nanos from_now);

// "2026-11-29T20:15:00Z"; pure.
std::string WallText(int64_t wall_ns);

}  // namespace triodrill::coordinator
