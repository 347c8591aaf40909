#include "drills/shadow/system_clock.h"

namespace triodrill::shadow {

TimePoint SystemClock::Now() { return std::chrono::steady_clock::now(); }

int PollTimeout(Clock& clock, TimePoint deadline) {
  const Nanos left = deadline - clock.Now();
  if (left <= Nanos(0)) return 0;
  return static_cast<int>(std::min<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 60'000));
}

}  // namespace triodrill::shadow
