#include "drills/shadow/trainer/digest.h"

#include <bit>
#include <cstring>

namespace triodrill::shadow::trainer {

uint64_t HashOf(std::span<const float> values, uint64_t before) {
  uint64_t hash = before;
  for (const float value : values) {
    hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

uint64_t StateHash(const State& state) { return HashOf(state.momentum, HashOf(state.weights)); }

double SumOf(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

double SquaredNorm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool SameBits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

}  // namespace triodrill::shadow::trainer
