#include "reports/stats/permutation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "reports/stats/distributions.h"

namespace triodrill {
namespace {

constexpr int64_t kLevels = 512;
constexpr double kMostWork = 5e7;  // additions; beyond it the normal approximation is right to a fraction of a per cent
constexpr double kWhole = 1e-9;

// Whole numbers from 0, as small as they can be without losing a difference.
std::vector<int64_t> OnGrid(std::span<const double> scores) {
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  const double low = *least;
  const double range = *most - low;
  bool whole = true;
  for (const double score : scores) whole = whole && std::abs(score - low - std::round(score - low)) < kWhole;
  const double scale = whole || range <= 0 ? 1.0 : static_cast<double>(kLevels) / range;
  std::vector<int64_t> grid;
  int64_t divisor = 0;
  for (const double score : scores) {
    grid.push_back(std::llround((score - low) * scale));
    divisor = std::gcd(divisor, grid.back());
  }
  if (divisor > 1) {
    for (int64_t& score : grid) score /= divisor;
  }
  return grid;
}

// ways[s]: of how many choices of `chosen` among `grid` the sum is s. Counts are kept in doubles: what is asked of them
// is a ratio.
std::vector<double> Ways(std::span<const int64_t> grid, size_t chosen) {
  std::vector<int64_t> sorted(grid.begin(), grid.end());
  std::sort(sorted.begin(), sorted.end());
  const int64_t most = std::accumulate(sorted.end() - static_cast<std::ptrdiff_t>(chosen), sorted.end(), int64_t{0});
  const auto width = static_cast<size_t>(most) + 1;
  std::vector<double> table((chosen + 1) * width, 0.0);  // [of how many][sum]
  table[0] = 1;
  size_t taken = 0;
  for (const int64_t score : sorted) {
    const auto step = static_cast<size_t>(score);
    taken = std::min(taken + 1, chosen);
    for (size_t count = taken; count >= 1; --count) {
      double* const to = table.data() + count * width;
      const double* const from = to - width;
      for (size_t sum = step; sum < width; ++sum) to[sum] += from[sum - step];
    }
  }
  return {table.end() - static_cast<std::ptrdiff_t>(width), table.end()};
}

Tails ByCounting(std::span<const int64_t> grid, size_t chosen, int64_t seen) {
  const std::vector<double> ways = Ways(grid, chosen);
  double below = 0;
  double above = 0;
  for (size_t sum = 0; sum < ways.size(); ++sum) {
    (static_cast<int64_t>(sum) < seen ? below : above) += ways[sum];
  }
  const double all = below + above;
  const double at = ways[static_cast<size_t>(seen)];
  return {.lower = (below + at) / all, .upper = above / all, .exact = true};
}

Tails ByNormal(std::span<const int64_t> grid, size_t chosen, int64_t seen) {
  const auto n = static_cast<double>(grid.size());
  const auto k = static_cast<double>(chosen);
  const double mean = static_cast<double>(std::accumulate(grid.begin(), grid.end(), int64_t{0})) / n;
  double squares = 0;
  for (const int64_t score : grid) {
    squares += (static_cast<double>(score) - mean) * (static_cast<double>(score) - mean);
  }
  const double deviation = std::sqrt(k * (n - k) / (n * (n - 1)) * squares);
  if (deviation <= 0) return {};
  const double off = static_cast<double>(seen) - k * mean;
  return {.lower = NormalCdf((off + 0.5) / deviation), .upper = NormalTail((off - 0.5) / deviation), .exact = false};
}

}  // namespace

std::optional<Tails> PermutationTails(std::span<const double> scores, size_t of_first) {
  if (of_first == 0 || of_first >= scores.size()) return std::nullopt;
  const std::vector<int64_t> grid = OnGrid(scores);
  const auto first_end = grid.begin() + static_cast<std::ptrdiff_t>(of_first);
  const int64_t first = std::accumulate(grid.begin(), first_end, int64_t{0});
  const int64_t second = std::accumulate(first_end, grid.end(), int64_t{0});
  // The sums of the two groups determine each other: count the choices of the smaller one.
  const bool swapped = of_first > grid.size() - of_first;
  const size_t chosen = swapped ? grid.size() - of_first : of_first;
  const int64_t seen = swapped ? second : first;
  const int64_t most = *std::max_element(grid.begin(), grid.end());
  const double work = static_cast<double>(grid.size()) * static_cast<double>(chosen) * static_cast<double>(chosen) *
                      static_cast<double>(most);
  const Tails tails = work <= kMostWork ? ByCounting(grid, chosen, seen) : ByNormal(grid, chosen, seen);
  return swapped ? Tails{.lower = tails.upper, .upper = tails.lower, .exact = tails.exact} : tails;
}

std::vector<double> RankScores(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> scores;
  scores.reserve(values.size());
  for (const double value : values) {
    const auto [from, to] = std::equal_range(sorted.begin(), sorted.end(), value);
    scores.push_back(static_cast<double>((from - sorted.begin()) + (to - sorted.begin()) + 1));
  }
  return scores;
}

std::vector<double> LogRankScores(std::span<const Lifetime> lifetimes) {
  const std::vector<SurvivalStep> steps = KaplanMeier(lifetimes);
  std::vector<double> scores;
  for (const Lifetime& one : lifetimes) {
    double expected = 0;
    for (const SurvivalStep& step : steps) {
      if (step.time <= one.time) expected += static_cast<double>(step.events) / step.at_risk;
    }
    scores.push_back((one.censored ? 0.0 : 1.0) - expected);
  }
  return scores;
}

int MannWhitneyCritical(int m, int n, double tail, double& below) {
  below = 0;
  if (m < 1 || n < 1) return 0;
  const double work = static_cast<double>(m + n) * std::min(m, n) * std::min(m, n) * (m + n);
  if (work > kMostWork) {
    const double deviation = std::sqrt(static_cast<double>(m) * n * (m + n + 1) / 12);
    const double centre = static_cast<double>(m) * n / 2;
    const int critical = static_cast<int>(std::floor(centre - 0.5 + NormalQuantile(tail) * deviation)) + 1;
    if (critical < 1) return 0;
    below = NormalCdf((critical - 0.5 - centre) / deviation);
    return critical;
  }
  // U of the smaller group is its rank sum less the least that it can be.
  std::vector<int64_t> ranks(static_cast<size_t>(m) + static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  const int chosen = std::min(m, n);
  const std::vector<double> ways = Ways(ranks, static_cast<size_t>(chosen));
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  const auto least = static_cast<size_t>(chosen) * static_cast<size_t>(chosen - 1) / 2;
  double sum = 0;
  int critical = 0;
  for (size_t at = least; at < ways.size() && (sum + ways[at]) / all <= tail; ++at) {
    sum += ways[at];
    ++critical;
  }
  below = sum / all;
  return critical;
}

}  // namespace triodrill
