// The machine's monotonic clock: the only place of the sandbox that reads the time.
#pragma once

#include "triodrill/time.h"

namespace triodrill::shadow {

class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

// Milliseconds until `deadline` for poll(2): 0 if it is past, rounded up.
int PollTimeout(Clock& clock, TimePoint deadline);

}  // namespace triodrill::shadow
