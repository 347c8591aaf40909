#include "drills/shadow/system_clock.h"

#include <ctime>

#include "absl/strings/str_format.h"

namespace triodrill::shadow {

TimePoint SystemClock::Now() { return std::chrono::steady_clock::now(); }

int64_t WallNanos() {
  return std::chrono::duration_cast<Nanos>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string WallText() {
  const int64_t nanos = WallNanos();
  const std::time_t seconds = nanos / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                         parts.tm_hour, parts.tm_min, parts.tm_sec, nanos % 1'000'000'000 / 1000);
}

int PollTimeout(Clock& clock, TimePoint deadline) {
  const Nanos left = deadline - clock.Now();
  if (left <= Nanos(0)) return 0;
  return static_cast<int>(std::min<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 60'000));
}

}  // namespace triodrill::shadow
