#include "drills/shadow/trainer/kernel.h"

#include <algorithm>

#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

// A step is a row of launches, each begun by the process when the one before has ended: a process that is stopped or
// starved launches nothing, and falls behind by as long. One long sleep would go on while its process does not.
constexpr Nanos kLaunch = std::chrono::milliseconds(4);

}  // namespace

Nanos SimulatedKernel::Duration() const {
  return device_ == nullptr ? step_compute_
                            : gpu::Stretched(step_compute_, device_->max_sm_mhz(), device_->Now().sm_mhz);
}

void SimulatedKernel::TellUtilization(TimePoint now, Nanos duration) {
  if (now > began_ && took_ > Nanos(0)) {
    device_->SetUtilization(static_cast<uint32_t>(std::min<int64_t>(100, took_ * 100 / (now - began_))));
  }
  began_ = now;
  took_ = duration;
}

Status SimulatedKernel::Run() {
  if (stream_) stream_->AwaitTurn();
  TimePoint now = clock_.Now();
  const Nanos duration = Duration();
  if (device_ != nullptr) TellUtilization(now, duration);
  for (Nanos left = duration;;) {
    lost_ = device_ != nullptr && device_->lost();
    if (lost_) return absl::UnavailableError(Cat(device_->Name(), " is lost: it has fallen off the bus"));
    if (left <= Nanos(0)) return Ok();
    const TimePoint began = now;
    const Nanos taken = device_ == nullptr ? Nanos(0) : device_->taken();
    if (!orders_.WaitUntil(began + std::min(left, kLaunch))) return absl::CancelledError("a newer order came");
    now = clock_.Now();
    // A wake-up that is a little late is made good by the next launch; longer gaps are lost time.
    const Nanos ran = std::min(Nanos(now - began), 2 * kLaunch);
    // While a kernel of another process had its turn, this one's stood still.
    const Nanos others = device_ == nullptr ? Nanos(0) : std::min(device_->taken() - taken, ran);
    left -= ran - others;
  }
}

}  // namespace triodrill::shadow::trainer
