// The machine's clocks: the only place of the sandbox and of the reference pipeline that reads the time.
#pragma once

#include <string>

#include "triodrill/time.h"

namespace triodrill::shadow {

class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

// The wall clock, in nanoseconds since 1970: for file times and people, never for durations.
int64_t WallNanos();
// The same as RFC 3339, UTC, with microseconds.
std::string WallText();

// Milliseconds until `deadline` for poll(2): 0 if it is past, rounded up.
int PollTimeout(Clock& clock, TimePoint deadline);

}  // namespace triodrill::shadow
