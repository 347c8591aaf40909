#include "injectors/collective/clock.h"

#include <time.h>

namespace triodrill::collective {
namespace {

int64_t Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t MonotonicNanos() { return Read(CLOCK_MONOTONIC); }
int64_t BoottimeNanos() { return Read(CLOCK_BOOTTIME); }

void PauseBriefly(int64_t most_ns) {
  const timespec some{0, most_ns > 0 && most_ns < 500'000 ? most_ns : 500'000};
  ::nanosleep(&some, nullptr);
}

}  // namespace triodrill::collective
