// How sure a survival curve is, and whether two of them differ. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/stats.h"

namespace triodrill {

// A step of the curve with Greenwood's standard error and the limits of S(t) on the log-log scale (Kalbfleisch and
// Prentice), which stay within 0 and 1. At S = 0 Greenwood's formula has no value: the lower limit is 0 there, and the
// upper one that of the step before (1 if there is none).
struct BandStep {
  double time = 0;
  double survival = 1;
  double standard_error = 0;  // of S(t); 0 at S = 0
  double low = 0;
  double high = 1;
};
std::vector<BandStep> SurvivalBand(std::span<const Lifetime> lifetimes, double confidence = 0.95);

// The times between which the p-quantile lies, read off the band (Brookmeyer and Crowley, 1982). `high` is absent where
// the band never comes down so far. Nullopt where the quantile itself is open, and below five lifetimes: the limits are
// right for large samples only, and mean nothing for so few.
struct QuantileLimits {
  double low = 0;
  std::optional<double> high;
};
inline constexpr size_t kFewestForBand = 5;
std::optional<QuantileLimits> QuantileBand(std::span<const Lifetime> lifetimes, double p, double confidence = 0.95);

// The log-rank test (Mantel, 1966; Peto and Peto, 1972) with the hypergeometric variance. Nullopt if there is nothing
// to compare: an empty group, or no time at which both had somebody at risk and an event came.
struct LogRankResult {
  double observed_first = 0;
  double expected_first = 0;
  double observed_second = 0;
  double expected_second = 0;
  double variance = 0;
  double chi_square = 0;
  double p = 1;  // two-sided, for large samples; permutation.h has the exact one
};
std::optional<LogRankResult> LogRank(std::span<const Lifetime> first, std::span<const Lifetime> second);

}  // namespace triodrill
