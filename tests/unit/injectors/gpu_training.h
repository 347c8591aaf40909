// A process that trains on a shadow GPU: it begins the phase "compute" and then waits for what is on its default
// stream, again and again, while a thread of its own counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tests/unit/injectors/child.h"

namespace triodrill::testing {

class GpuTraining {
 public:
  // On GPU 1 of the stand-in driver `cuda`, which finds its state beside itself; without a context if not `on_gpu`.
  explicit GpuTraining(const std::string& cuda, bool on_gpu = true);

  const Child& child() const { return child_; }
  uint64_t steps() const { return counts_->steps; }
  uint64_t beats() const { return counts_->beats; }

 private:
  struct Counts {
    std::atomic<uint64_t> steps;
    std::atomic<uint64_t> beats;
  };
  static Counts* Share();
  [[noreturn]] static void Train(const std::string& cuda, bool on_gpu, Counts& counts);

  Counts* const counts_ = Share();
  Child child_;
};

}  // namespace triodrill::testing
