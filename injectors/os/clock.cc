#include "injectors/os/clock.h"

#include <poll.h>

#include <cerrno>
#include <ctime>

namespace triodrill {
namespace {

Nanos Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + Nanos(now.tv_nsec);
}

timespec ToTimespec(Nanos nanos) {
  const Nanos wait = std::max(nanos, Nanos(0));
  return {static_cast<time_t>(wait.count() / 1'000'000'000), static_cast<long>(wait.count() % 1'000'000'000)};
}

}  // namespace

TimePoint SystemClock::Now() { return TimePoint(Read(CLOCK_MONOTONIC)); }
Nanos SinceBoot() { return Read(CLOCK_BOOTTIME); }
Nanos WallTime() { return Read(CLOCK_REALTIME); }

std::optional<int64_t> WallSeconds() {
  timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;
  return now.tv_sec;
}

bool LookUntil(Nanos limit, const std::function<bool()>& done) {
  const Nanos end = Read(CLOCK_MONOTONIC) + limit;
  while (!done()) {
    if (Read(CLOCK_MONOTONIC) >= end) return false;
    const timespec pause = ToTimespec(std::chrono::milliseconds(1));
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
  return true;
}

bool WaitReadable(int fd, Nanos limit) {
  const Nanos end = Read(CLOCK_MONOTONIC) + limit;
  while (true) {
    pollfd entry{fd, POLLIN, 0};
    const timespec left = ToTimespec(end - Read(CLOCK_MONOTONIC));
    const int ready = ::ppoll(&entry, 1, &left, nullptr);
    if (ready > 0) return (entry.revents & (POLLIN | POLLHUP)) != 0;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace triodrill
