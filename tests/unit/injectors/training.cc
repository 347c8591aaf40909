#include "tests/unit/injectors/training.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "triodrill/workload.h"

namespace triodrill::testing {
namespace {

// Says a byte to `ready` once all its names are known.
[[noreturn]] void Train(int ready) {
  std::vector<double> weights(8, 1.0);
  std::vector<float> gradients(64);
  std::vector<float> reduced(64);
  triodrill_register_tensor("weights", weights.data(), weights.size(), TRIODRILL_FLOAT64);
  triodrill_register_tensor("gradients", gradients.data(), gradients.size(), TRIODRILL_FLOAT32);
  triodrill_register_tensor("reduced_gradients", reduced.data(), reduced.size(), TRIODRILL_FLOAT32);
  const int own = triodrill_phase_id("gradients");
  const int sum = triodrill_phase_id("reduced");
  const int applied = triodrill_phase_id("applied");
  [[maybe_unused]] const ssize_t wrote = ::write(ready, "r", 1);
  for (uint64_t step = 0;; ++step) {
    std::iota(gradients.begin(), gradients.end(), 1.0F);
    triodrill_phase(own);
    reduced = gradients;
    triodrill_phase(sum);
    for (double& weight : weights) weight += 1;
    triodrill_phase(applied);
    triodrill_progress(step + 1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

Child Training(bool page, const std::string& directory) {
  int ready[2];
  if (::pipe(ready) != 0) ::abort();
  Child child([&] {
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(1);
    if (page && triodrill_attach(0, 1) != 0) ::_exit(1);
    Train(ready[1]);
  });
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(ready[0], &byte, 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

}  // namespace triodrill::testing
