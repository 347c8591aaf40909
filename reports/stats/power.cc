#include "reports/stats/power.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reports/stats/distributions.h"
#include "reports/stats/stats.h"

namespace triodrill {
namespace {

constexpr int kMostTrials = 10'000'000;
constexpr double kTolerance = 1e-12;

}  // namespace

std::optional<int> TrialsForShare(double share, double confidence, int failures) {
  if (share <= 0) return failures + 1;
  if (share >= 1 || failures < 0) return std::nullopt;
  // P(at most `failures` fail) falls with n: it must not exceed 1 - confidence if P(pass) were only `share`.
  const auto enough = [&](int n) {
    return BinomialAtLeast(n, n - failures, share) <= (1 - confidence) * (1 + kTolerance);
  };
  int high = failures + 1;
  while (!enough(high)) {
    if (high > kMostTrials / 2) return std::nullopt;
    high *= 2;
  }
  int low = high / 2;
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

double ChanceThatAllPass(int n, double probability) { return std::pow(probability, n); }

std::optional<int> TrialsForUpperLimit(double p, double confidence) { return TrialsForShare(p, confidence); }

std::optional<int> TrialsForMedian(double confidence) {
  for (int n = 2; n <= 64; ++n) {
    if (QuantileRanks(n, 0.5, confidence)) return n;
  }
  return std::nullopt;
}

int FewestToDecide(double alpha) {
  double deals = 1;  // C(2n, n)
  for (int n = 1; n < 64; ++n) {
    deals = deals * (2.0 * n) * (2.0 * n - 1) / (static_cast<double>(n) * n);
    if (1 / deals <= alpha * (1 + kTolerance)) return n;
  }
  return 64;
}

std::optional<int> TrialsToCompare(double share, double alpha, double power) {
  if (share <= 0.5) return std::nullopt;
  const double z = NormalQuantile(1 - alpha) + NormalQuantile(power);
  const double each = z * z / (6 * (share - 0.5) * (share - 0.5));
  if (each > kMostTrials) return std::nullopt;
  return std::max(static_cast<int>(std::ceil(each - kTolerance)), FewestToDecide(alpha));
}

double ShareBeyondAt(double factor, double spread) {
  if (spread <= 0) return factor > 1 ? 1.0 : 0.5;
  return NormalCdf(std::log(factor) / (spread * std::numbers::sqrt2));
}

}  // namespace triodrill
