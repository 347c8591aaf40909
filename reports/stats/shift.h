// By how much one sample lies beyond another, without assuming a distribution (Hodges and Lehmann, 1963). Each value is
// a range: measurement error makes it wide, censoring leaves it without an upper end. Pure.
#pragma once

#include <optional>
#include <span>

namespace triodrill {

// A value known to lie in [low, high]; high may be infinite.
struct Range {
  double low = 0;
  double high = 0;
};

// The estimate is the median over all pairs. It is itself a range, [low, high], as far as the values are: an end is
// infinite where censoring leaves it open. `interval` is the sampling error on top: absent if there are too few values
// for the confidence asked.
struct PairwiseShift {
  Range estimate;
  std::optional<Range> interval;
  double confidence = 0;  // of the interval: at least what was asked
};

// second - first. Nullopt if a group is empty.
std::optional<PairwiseShift> HodgesLehmann(std::span<const Range> first, std::span<const Range> second,
                                           double confidence);
// second / first. Nullopt as well if a value of the first may be zero or less.
std::optional<PairwiseShift> RatioOf(std::span<const Range> first, std::span<const Range> second, double confidence);

// P(second > first) + P(equal) / 2 over all pairs, each pair read as low as it can be.
double LeastShareBeyond(std::span<const Range> first, std::span<const Range> second);

}  // namespace triodrill
