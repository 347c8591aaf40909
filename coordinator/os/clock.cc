#include "coordinator/os/clock.h"

namespace triodrill::coordinator {

TimePoint SystemClock::Now() { return std::chrono::steady_clock::now(); }

}  // namespace triodrill::coordinator
