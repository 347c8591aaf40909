#include "coordinator/os/clock.h"

#include <ctime>

#include <time.h>

namespace triodrill::coordinator {

TimePoint SystemClock::Now() { return std::chrono::steady_clock::now(); }

int64_t WallNanos() {
  return std::chrono::duration_cast<Nanos>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<int64_t> WallSeconds() {
  timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;
  return now.tv_sec;
}

std::chrono::system_clock::time_point WallDeadline(Nanos from_now) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(from_now);
}

std::string WallText(int64_t wall_ns) {
  const time_t seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, length);
}

}  // namespace triodrill::coordinator
