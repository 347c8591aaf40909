// The simulated accelerator's part of a step: time that passes, and nothing else. How much, the shadow GPU's clock
// says.
#pragma once

#include <optional>

#include "drills/shadow/gpu/state_file.h"
#include "drills/shadow/trainer/gpu_stream.h"
#include "drills/shadow/trainer/orders.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::shadow::trainer {

class SimulatedKernel {
 public:
  // `device` may be null: then a step always takes `step_compute`, which is what it takes at the highest clock.
  SimulatedKernel(Nanos step_compute, Clock& clock, Orders& orders, const gpu::HeldGpu* device)
      : step_compute_(step_compute), clock_(clock), orders_(orders), device_(device) {}
  // From now on it stands in that stream, behind whatever is there; whoever opened it calls Run.
  void PutOn(GpuStream stream) { stream_.emplace(stream); }

  // Waits for one step's computing. Cancelled if a newer order came first, Unavailable if the GPU is lost: then no
  // later call in this process can do better.
  Status Run();
  bool lost() const { return lost_; }

  // How long a step's computing takes now. The one place for what slows an accelerator down.
  Nanos Duration() const;

 private:
  void TellUtilization(TimePoint now, Nanos duration);

  const Nanos step_compute_;
  Clock& clock_;
  Orders& orders_;
  const gpu::HeldGpu* const device_;
  std::optional<GpuStream> stream_;
  bool lost_ = false;
  TimePoint began_;  // the step before
  Nanos took_{0};
};

}  // namespace triodrill::shadow::trainer
