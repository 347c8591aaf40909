#include "triodrill/workload/clock.h"

#include <time.h>

namespace triodrill::workload {
namespace {

int64_t Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t MonotonicNanos() { return Read(CLOCK_MONOTONIC); }
int64_t BoottimeNanos() { return Read(CLOCK_BOOTTIME); }

}  // namespace triodrill::workload
