#include "reports/stats/stats.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/distributions.h"

namespace triodrill {
namespace {

// The survival curve is a product of ratios; a quantile that falls exactly on a step must not be lost to rounding.
constexpr double kTolerance = 1e-12;

}  // namespace

std::vector<SurvivalStep> KaplanMeier(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> sorted(lifetimes.begin(), lifetimes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Lifetime& a, const Lifetime& b) { return a.time < b.time; });
  std::vector<SurvivalStep> steps;
  double survival = 1;
  size_t next = 0;
  while (next < sorted.size()) {
    const double time = sorted[next].time;
    const int at_risk = static_cast<int>(sorted.size() - next);
    int events = 0;
    for (; next < sorted.size() && sorted[next].time == time; ++next) {
      if (!sorted[next].censored) ++events;
    }
    if (events == 0) continue;
    survival *= 1.0 - static_cast<double>(events) / at_risk;
    steps.push_back({.time = time, .at_risk = at_risk, .events = events, .survival = survival});
  }
  return steps;
}

std::optional<double> KaplanMeierQuantile(std::span<const Lifetime> lifetimes, double p) {
  for (const SurvivalStep& step : KaplanMeier(lifetimes)) {
    if (step.survival <= 1 - p + kTolerance) return step.time;
  }
  return std::nullopt;
}

double Assurance(int n, double confidence) { return n <= 0 ? 0.0 : std::pow(1 - confidence, 1.0 / n); }

std::optional<RankInterval> QuantileRanks(int n, double p, double confidence) {
  if (n < 1 || p <= 0 || p >= 1) return std::nullopt;
  // The quantile lies between the order statistics l and h iff the number of values below it is in [l, h-1].
  std::vector<double> below(static_cast<size_t>(n) + 2, 0.0);  // below[k] = P(count < k)
  for (int k = 0; k <= n; ++k)
    below[static_cast<size_t>(k) + 1] = below[static_cast<size_t>(k)] + BinomialMass(n, k, p);
  std::optional<RankInterval> best;
  for (int low = 1; low <= n; ++low) {
    for (int high = low + 1; high <= n; ++high) {
      const double covered = below[static_cast<size_t>(high)] - below[static_cast<size_t>(low)];
      if (covered + kTolerance < confidence) continue;
      const bool narrower = !best || high - low < best->high - best->low;
      const bool surer = best && high - low == best->high - best->low && covered > best->confidence + kTolerance;
      if (narrower || surer) best = RankInterval{.low = low, .high = high, .confidence = covered};
      break;  // a higher end only widens it
    }
  }
  return best;
}

}  // namespace triodrill
