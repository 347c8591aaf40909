#include "reports/stats/survival.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "reports/stats/distributions.h"

namespace triodrill {
namespace {

// As in KaplanMeierQuantile: a quantile that falls exactly on a step must not be lost to rounding.
constexpr double kTolerance = 1e-12;

// Those of `lifetimes` that end at `time` with an event, and those that last at least so long.
struct AtTime {
  int events = 0;
  int at_risk = 0;
};
AtTime Count(std::span<const Lifetime> lifetimes, double time) {
  AtTime count;
  for (const Lifetime& one : lifetimes) {
    if (one.time >= time) ++count.at_risk;
    if (one.time == time && !one.censored) ++count.events;
  }
  return count;
}

}  // namespace

std::vector<BandStep> SurvivalBand(std::span<const Lifetime> lifetimes, double confidence) {
  const double z = NormalQuantile((1 + confidence) / 2);
  std::vector<BandStep> band;
  double greenwood = 0;  // the variance of log S
  double last_high = 1;
  for (const SurvivalStep& step : KaplanMeier(lifetimes)) {
    BandStep& out = band.emplace_back();
    out.time = step.time;
    out.survival = step.survival;
    if (step.events == step.at_risk) {
      out.survival = 0;
      out.high = last_high;
      continue;
    }
    greenwood += static_cast<double>(step.events) / (static_cast<double>(step.at_risk) * (step.at_risk - step.events));
    out.standard_error = step.survival * std::sqrt(greenwood);
    const double log_survival = std::log(step.survival);
    const double width = z * std::sqrt(greenwood) / std::abs(log_survival);
    out.low = std::exp(log_survival * std::exp(width));
    out.high = std::exp(log_survival * std::exp(-width));
    last_high = out.high;
  }
  return band;
}

std::optional<QuantileLimits> QuantileBand(std::span<const Lifetime> lifetimes, double p, double confidence) {
  if (lifetimes.size() < kFewestForBand || !KaplanMeierQuantile(lifetimes, p)) return std::nullopt;
  QuantileLimits limits;
  bool low_found = false;
  for (const BandStep& step : SurvivalBand(lifetimes, confidence)) {
    if (!low_found && step.low <= 1 - p + kTolerance) {
      limits.low = step.time;
      low_found = true;
    }
    if (step.high <= 1 - p + kTolerance) {
      limits.high = step.time;
      break;
    }
  }
  return limits;
}

std::optional<LogRankResult> LogRank(std::span<const Lifetime> first, std::span<const Lifetime> second) {
  std::vector<Lifetime> all(first.begin(), first.end());
  std::copy(second.begin(), second.end(), std::back_inserter(all));
  LogRankResult result;
  for (const SurvivalStep& step : KaplanMeier(all)) {
    const AtTime mine = Count(first, step.time);
    const double share = static_cast<double>(mine.at_risk) / step.at_risk;
    result.observed_first += mine.events;
    result.observed_second += step.events - mine.events;
    result.expected_first += step.events * share;
    result.expected_second += step.events * (1 - share);
    if (step.at_risk > 1) {
      result.variance += step.events * share * (1 - share) * (step.at_risk - step.events) / (step.at_risk - 1);
    }
  }
  if (first.empty() || second.empty() || result.variance <= 0) return std::nullopt;
  const double excess = result.observed_first - result.expected_first;
  result.chi_square = excess * excess / result.variance;
  result.p = ChiSquareTail(result.chi_square);
  return result;
}

}  // namespace triodrill
