#include "reports/stats/distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace triodrill {
namespace {

// Halving an interval within [0, 1] this often leaves less than a double can tell apart.
constexpr int kHalvings = 80;

// std::lgamma leaves the sign in a global.
double LogFactorial(int n) {
  int sign = 0;
  return ::lgamma_r(n + 1.0, &sign);
}

double LogChoose(int n, int k) { return LogFactorial(n) - LogFactorial(k) - LogFactorial(n - k); }

// Abramowitz and Stegun 26.2.23: right to 4.5e-4, which two steps of Halley's method make exact.
double RoughQuantile(double p) {
  const double t = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
  const double z =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return p < 0.5 ? -z : z;
}

// The share at which `tail(share)`, which rises with the share, is `level`.
template <typename Tail>
double ShareAt(double level, Tail tail) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (tail(middle) < level ? low : high) = middle;
  }
  return (low + high) / 2;
}

double LowerLimit(int k, int n, double tail) {
  if (k <= 0) return 0;
  return ShareAt(tail, [&](double share) { return BinomialAtLeast(n, k, share); });
}

}  // namespace

double NormalCdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double NormalTail(double z) { return NormalCdf(-z); }

double NormalQuantile(double p) {
  if (p > 0.5) return -NormalQuantile(1 - p);
  double z = RoughQuantile(p);
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (NormalCdf(z) - p) / density;
    z -= step / (1 + z * step / 2);
  }
  return z;
}

double ChiSquareTail(double x) { return x <= 0 ? 1.0 : std::erfc(std::sqrt(x / 2)); }

double BinomialMass(int n, int k, double p) {
  if (k < 0 || k > n) return 0;
  if (p <= 0) return k == 0 ? 1 : 0;
  if (p >= 1) return k == n ? 1 : 0;
  return std::exp(LogChoose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p));
}

double BinomialAtLeast(int n, int k, double p) {
  double sum = 0;
  for (int i = std::max(k, 0); i <= n; ++i) sum += BinomialMass(n, i, p);
  return std::min(sum, 1.0);
}

ShareLimits BinomialLimits(int k, int n, double confidence) {
  if (n <= 0) return {};
  const double tail = (1 - confidence) / 2;
  return {.low = LowerLimit(k, n, tail), .high = 1 - LowerLimit(n - k, n, tail)};
}

double BinomialLowerLimit(int k, int n, double confidence) { return n <= 0 ? 0.0 : LowerLimit(k, n, 1 - confidence); }

}  // namespace triodrill
