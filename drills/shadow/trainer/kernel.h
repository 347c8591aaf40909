// The simulated accelerator's part of a step: time that passes, and nothing else.
#pragma once

#include "drills/shadow/trainer/orders.h"
#include "triodrill/time.h"

namespace triodrill::shadow::trainer {

class SimulatedKernel {
 public:
  SimulatedKernel(Nanos step_compute, Clock& clock, Orders& orders)
      : step_compute_(step_compute), clock_(clock), orders_(orders) {}

  // Waits for one step's computing. False if a newer order came first.
  bool Run();

 private:
  // How long a step's computing takes now. The one place for what slows an accelerator down.
  Nanos Duration() const { return step_compute_; }

  const Nanos step_compute_;
  Clock& clock_;
  Orders& orders_;
};

}  // namespace triodrill::shadow::trainer
