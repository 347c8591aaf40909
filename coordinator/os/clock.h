// The machine's clocks: the only file of coordinator/ that reads the time.
#pragma once

#include <cstdint>
#include <string>

#include "triodrill/time.h"

namespace triodrill::coordinator {

class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

// CLOCK_REALTIME in nanoseconds. For people and file names only: nothing is measured with it.
int64_t WallNanos();

// "2026-11-29T20:15:00Z"; pure.
std::string WallText(int64_t wall_ns);

}  // namespace triodrill::coordinator
