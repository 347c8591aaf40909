// Which elements of a buffer an order picks, before their values are looked at: how many, the n-th of them, and whether
// one is among them. What is drawn costs as much as is picked, whatever the size of the buffer: the number first
// (binomial), then that many different elements, the first ones of a shuffle that is computed and not stored.
// As corruption.h: the CPU and the GPU pick the same; pure, any thread.
#pragma once

#include <cstdint>

#include "triodrill/corruption.h"

namespace triodrill::corruption {

// A permutation of 0 … total-1, drawn from a seed and a call: a Feistel network over the next power of two, walked
// until it comes back into the range (twice at most, on average).
class Shuffle {
 public:
  TRIODRILL_HOST_DEVICE Shuffle(uint64_t seed, uint64_t call, uint64_t total) : total_(total) {
    const auto bits = static_cast<uint32_t>(LengthOf(total > 1 ? total - 1 : 1));
    left_ = bits / 2 == 0 ? 1 : bits / 2;
    right_ = bits < 2 ? 1 : bits - bits / 2;
    for (uint64_t i = 0; i < kRounds / 2; ++i) {
      const philox::Block drawn = philox::Draw(seed, kForPicks, call, i);
      key_[2 * i] = philox::Pair(drawn, 0);
      key_[2 * i + 1] = philox::Pair(drawn, 1);
    }
  }

  // The element at place `place`, below the total.
  TRIODRILL_HOST_DEVICE uint64_t At(uint64_t place) const {
    do {
      place = Forward(place);
    } while (place >= total_);
    return place;
  }

  // The place of an element: At(PlaceOf(e)) == e.
  TRIODRILL_HOST_DEVICE uint64_t PlaceOf(uint64_t element) const {
    do {
      element = Backward(element);
    } while (element >= total_);
    return element;
  }

 private:
  static constexpr uint32_t kRounds = 6;

  TRIODRILL_HOST_DEVICE static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  // An even round changes the left part by the right, an odd one the right by the left.
  TRIODRILL_HOST_DEVICE void Round(uint32_t round, uint64_t* left, uint64_t* right) const {
    if (round % 2 == 0) {
      *left ^= Mix(*right + key_[round]) & LowBits(left_);
    } else {
      *right ^= Mix(*left + key_[round]) & LowBits(right_);
    }
  }
  TRIODRILL_HOST_DEVICE uint64_t Forward(uint64_t at) const {
    uint64_t left = at >> right_;
    uint64_t right = at & LowBits(right_);
    for (uint32_t round = 0; round < kRounds; ++round) Round(round, &left, &right);
    return left << right_ | right;
  }
  TRIODRILL_HOST_DEVICE uint64_t Backward(uint64_t at) const {
    uint64_t left = at >> right_;
    uint64_t right = at & LowBits(right_);
    for (uint32_t round = kRounds; round-- > 0;) Round(round, &left, &right);
    return left << right_ | right;
  }

  uint64_t total_;
  uint32_t left_ = 1;
  uint32_t right_ = 1;
  uint64_t key_[kRounds] = {};
};

// How many of `most` trials succeed, by inversion: as many steps as successes. For most × chance up to some hundreds.
inline uint64_t InvertedBinomial(uint64_t most, double chance, double unit) {
  const double miss = 1 - chance;
  double all_miss = 1;
  double power = miss;
  for (uint64_t rest = most; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) all_miss = all_miss * power;
    power = power * power;
  }
  double probability = all_miss;
  uint64_t count = 0;
  while (unit >= probability && count < most) {
    unit = unit - probability;
    ++count;
    const double grown = probability * static_cast<double>(most - count + 1);
    probability = grown * (chance / miss) / static_cast<double>(count);
    // What is left of `unit` then is rounding.
    if (probability < 1e-18 && static_cast<double>(count) > static_cast<double>(most) * chance) break;
  }
  return count;
}

// How many of `total` elements a chance picks in a call.
inline uint64_t DrawnCount(uint64_t seed, uint64_t call, uint64_t total, double chance) {
  if (!(chance > 0)) return 0;
  if (chance >= 1) return total;
  // Of the rarer of the two, in portions within which the probability of none is a number that a double can hold, and
  // the error of its power stays below 10^-6.
  const bool rare = chance <= 0.5;
  const double rarer = rare ? chance : 1 - chance;
  const double portion = rarer > 128 / 4294967296.0 ? 128 / rarer : 4294967296.0;
  const uint64_t at_once = portion < static_cast<double>(total) ? static_cast<uint64_t>(portion) : total;
  uint64_t count = 0;
  uint64_t rest = total;
  for (uint64_t block = 0; rest != 0; ++block) {
    const uint64_t most = rest < at_once ? rest : at_once;
    const philox::Block drawn = philox::Draw(seed, kForCounts, call, block);
    count += InvertedBinomial(most, rarer, philox::Unit(philox::Pair(drawn, 0)));
    rest -= most;
  }
  return rare ? count : total - count;
}

// How many elements an order picks out of `total`, those of a tile that lie beyond the end included.
inline uint64_t CountOf(const Order& order, uint64_t total, uint64_t call) {
  switch (order.pick) {
    case kRun:
      return order.index >= total ? 0 : (order.count < total - order.index ? order.count : total - order.index);
    case kLane:
      return order.index >= total ? 0 : (total - order.index - 1) / order.lanes + 1;
    case kTile:
      return order.rows * order.columns;
    case kDrawn:
      return order.count < total ? order.count : total;
    case kChance:
      return DrawnCount(order.seed, call, total, order.chance);
    case kEvery:
      return total;
    default:
      return 0;
  }
}

// The element at place `place` of those that are picked; `total` or more if it is outside the buffer.
TRIODRILL_HOST_DEVICE inline uint64_t PickedAt(const Order& order, const Shuffle& shuffle, uint64_t place) {
  switch (order.pick) {
    case kRun:
      return order.index + place;
    case kLane:
      return order.index + place * order.lanes;
    case kTile:
      return (order.row + place / order.columns) * order.pitch + order.index + place % order.columns;
    case kDrawn:
    case kChance:
      return shuffle.At(place);
    default:
      return place;
  }
}

// Whether element `index` is picked, of `count` that are: the same question asked from the other side.
TRIODRILL_HOST_DEVICE inline bool IsPicked(const Order& order, const Shuffle& shuffle, uint64_t count, uint64_t index) {
  switch (order.pick) {
    case kRun:
      return index >= order.index && index - order.index < order.count;
    case kLane:
      return index % order.lanes == order.index;
    case kTile: {
      const uint64_t row = index / order.pitch;
      const uint64_t column = index % order.pitch;
      return row >= order.row && row - order.row < order.rows && column >= order.index &&
             column - order.index < order.columns;
    }
    case kDrawn:
    case kChance:
      return shuffle.PlaceOf(index) < count;
    default:
      return true;
  }
}

}  // namespace triodrill::corruption
