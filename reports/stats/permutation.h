// Whether two small samples differ, by counting: of all the ways in which the trials could have been dealt to the two
// groups, how many are as extreme as the one that was. Exact whatever the distribution, with ties and with censoring,
// if the censoring has nothing to do with the group. Pure: nothing is drawn.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/stats.h"

namespace triodrill {

// P(sum <= seen) and P(sum >= seen) for the sum of the first group's scores.
struct Tails {
  double lower = 1;
  double upper = 1;
  bool exact = false;  // else the normal approximation with the permutation's own variance: large groups
};

// `scores` of all trials, those of the first group in front. Scores that are not whole numbers are put on a grid of 512
// levels first: another score, and as exact a test. Nullopt if a group is empty.
std::optional<Tails> PermutationTails(std::span<const double> scores, size_t of_first);

// Twice the rank of each value; equal values share the middle of their ranks (Wilcoxon, 1945).
std::vector<double> RankScores(std::span<const double> values);

// Log-rank scores (Peto and Peto, 1972): event less expected. Their sum over a group is its observed less expected
// events; it is low where events came late.
std::vector<double> LogRankScores(std::span<const Lifetime> lifetimes);

// The largest c with P(U < c) <= tail for the Mann-Whitney count U of groups of m and n; 0 if there is none, because
// the groups are too small for such a tail. `below` becomes P(U < c).
int MannWhitneyCritical(int m, int n, double tail, double& below);

}  // namespace triodrill
