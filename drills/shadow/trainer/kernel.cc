#include "drills/shadow/trainer/kernel.h"

#include <algorithm>

namespace triodrill::shadow::trainer {
namespace {

// A step is a row of launches, each begun by the process when the one before has ended: a process that is stopped or
// starved launches nothing, and falls behind by as long. One long sleep would go on while its process does not.
constexpr Nanos kLaunch = std::chrono::milliseconds(4);

}  // namespace

bool SimulatedKernel::Run() {
  TimePoint now = clock_.Now();
  for (Nanos left = Duration(); left > Nanos(0);) {
    const TimePoint began = now;
    if (!orders_.WaitUntil(began + std::min(left, kLaunch))) return false;
    now = clock_.Now();
    // A wake-up that is a little late is made good by the next launch; longer gaps are lost time.
    left -= std::min(Nanos(now - began), 2 * kLaunch);
  }
  return true;
}

}  // namespace triodrill::shadow::trainer
