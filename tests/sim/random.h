// Chance from one seed (SplitMix64): the same numbers on every machine.
#pragma once

#include <cstdint>

#include "triodrill/time.h"

namespace triodrill::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, n); n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Below(static_cast<uint64_t>(most - least) + 1));
  }
  Nanos Between(Nanos least, Nanos most) { return Nanos(Between(least.count(), most.count())); }
  bool Chance(double p) { return static_cast<double>(Next() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

}  // namespace triodrill::sim
