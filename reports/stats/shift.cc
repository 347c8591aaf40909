#include "reports/stats/shift.h"

#include <algorithm>
#include <vector>

#include "reports/stats/permutation.h"

namespace triodrill {
namespace {

double MiddleOf(const std::vector<double>& sorted) {
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// `lows` and `highs`: one of each for every pair.
PairwiseShift Ordered(std::vector<double> lows, std::vector<double> highs, size_t m, size_t n, double confidence) {
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  PairwiseShift shift;
  shift.estimate = {MiddleOf(lows), MiddleOf(highs)};
  double below = 0;
  const int critical = MannWhitneyCritical(static_cast<int>(m), static_cast<int>(n), (1 - confidence) / 2, below);
  if (critical >= 1) {
    const auto rank = static_cast<size_t>(critical);
    shift.interval = Range{lows[rank - 1], highs[highs.size() - rank]};
    shift.confidence = 1 - 2 * below;
  }
  return shift;
}

}  // namespace

std::optional<PairwiseShift> HodgesLehmann(std::span<const Range> first, std::span<const Range> second,
                                           double confidence) {
  if (first.empty() || second.empty()) return std::nullopt;
  std::vector<double> lows;
  std::vector<double> highs;
  for (const Range& x : first) {
    for (const Range& y : second) {
      lows.push_back(y.low - x.high);
      highs.push_back(y.high - x.low);
    }
  }
  return Ordered(std::move(lows), std::move(highs), first.size(), second.size(), confidence);
}

std::optional<PairwiseShift> RatioOf(std::span<const Range> first, std::span<const Range> second, double confidence) {
  const bool positive = std::all_of(first.begin(), first.end(), [](const Range& x) { return x.low > 0; }) &&
                        std::all_of(second.begin(), second.end(), [](const Range& y) { return y.low >= 0; });
  if (first.empty() || second.empty() || !positive) return std::nullopt;
  std::vector<double> lows;
  std::vector<double> highs;
  for (const Range& x : first) {
    for (const Range& y : second) {
      lows.push_back(y.low / x.high);  // 0 if x has no upper end
      highs.push_back(y.high / x.low);
    }
  }
  return Ordered(std::move(lows), std::move(highs), first.size(), second.size(), confidence);
}

double LeastShareBeyond(std::span<const Range> first, std::span<const Range> second) {
  double beyond = 0;
  for (const Range& x : first) {
    for (const Range& y : second) beyond += y.low > x.high ? 1.0 : y.low == x.high ? 0.5 : 0.0;
  }
  const auto pairs = static_cast<double>(first.size() * second.size());
  return pairs > 0 ? beyond / pairs : 0.0;
}

}  // namespace triodrill
