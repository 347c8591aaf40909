// The few distributions that the tests and intervals here rest on. Pure.
#pragma once

namespace triodrill {

double NormalCdf(double z);
double NormalTail(double z);      // P(Z >= z), exact far out where 1 - NormalCdf is 0
double NormalQuantile(double p);  // 0 < p < 1
double ChiSquareTail(double x);   // one degree of freedom: P(X >= x)

double BinomialMass(int n, int k, double p);
double BinomialAtLeast(int n, int k, double p);  // P(count >= k)

// Clopper and Pearson (1934): the limits of a share of which `k` of `n` were seen, exact. At 0 of n the lower limit is
// 0, at n of n the upper one is 1.
struct ShareLimits {
  double low = 0;
  double high = 1;
};
ShareLimits BinomialLimits(int k, int n, double confidence);  // two-sided
double BinomialLowerLimit(int k, int n, double confidence);   // one-sided

}  // namespace triodrill
