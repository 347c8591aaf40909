// Chance with a seed. std::mt19937_64 is the same everywhere; the standard's distributions are not, so they are not
// used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "triodrill/time.h"

namespace triodrill::plan {

class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}

  // Uniform in [0, bound); bound > 0. Values that would make it uneven are thrown again.
  uint64_t Below(uint64_t bound) {
    const uint64_t uneven = (UINT64_MAX % bound + 1) % bound;
    uint64_t value = generator_();
    while (value > UINT64_MAX - uneven) value = generator_();
    return value % bound;
  }

  // Uniform in [0, limit), in whole nanoseconds; 0 for a limit of 0.
  Nanos Wait(Nanos limit) {
    return limit.count() <= 0 ? Nanos{0} : Nanos(static_cast<int64_t>(Below(static_cast<uint64_t>(limit.count()))));
  }

  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i)
      std::iter_swap(values.begin() + static_cast<std::ptrdiff_t>(i - 1),
                     values.begin() + static_cast<std::ptrdiff_t>(Below(i)));
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace triodrill::plan
