// How many trials a question needs. Pure.
#pragma once

#include <optional>

namespace triodrill {

// So many trials, with so many of them failing, that P(pass) >= share is supported with the confidence asked. The least
// n; nullopt if no n up to ten million does.
std::optional<int> TrialsForShare(double share, double confidence, int failures = 0);

// The chance that n of n trials pass if each passes with this probability.
double ChanceThatAllPass(int n, double probability);

// The least n at which the greatest of n values is an upper limit of the p-quantile with the confidence asked.
std::optional<int> TrialsForUpperLimit(double p, double confidence);
// The least n at which the order statistics give a two-sided interval of the median.
std::optional<int> TrialsForMedian(double confidence);

// The fewest trials on each side with which a one-sided permutation test can come out at `alpha` at all.
int FewestToDecide(double alpha);

// Trials on each side for a one-sided rank test at `alpha` to find, with the chance `power`, that the second group lies
// beyond the first, where it does so in `share` of all pairs (Noether, 1987). Nullopt if share <= 1/2: there is nothing
// to find. Never fewer than can decide.
std::optional<int> TrialsToCompare(double share, double alpha, double power);

// The share of pairs in which a log-normal value times `factor` exceeds another, where the logarithm's standard
// deviation is `spread` (about the relative standard deviation).
double ShareBeyondAt(double factor, double spread);

}  // namespace triodrill
