#include "reports/compare/metric.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/permutation.h"
#include "reports/stats/power.h"
#include "reports/stats/stats.h"

namespace triodrill {
namespace {

constexpr double kOpen = std::numeric_limits<double>::infinity();

bool Censored(const Range& value) { return std::isinf(value.high); }

int CensoredIn(const Sample& sample) {
  return static_cast<int>(std::count_if(sample.values.begin(), sample.values.end(), &Censored));
}

// The value at which the allowed regression ends.
double Allowed(double value, Scale scale, double regression) {
  switch (scale) {
    case Scale::kTime:
      return value * (1 + regression);
    case Scale::kCount:
      return std::max(value * (1 + regression), value + 0.5);
    case Scale::kShare:
      return value * (1 - regression);
  }
  return value;
}

// In the direction in which more is worse.
Range Badness(const Range& value, Scale scale) {
  return scale == Scale::kShare ? Range{-value.high, -value.low} : value;
}

Sample Beyond(const Sample& base, Scale scale, double regression) {
  Sample beyond;
  for (const Range& value : base.values) {
    beyond.values.push_back(
        Badness({Allowed(value.low, scale, regression), Allowed(value.high, scale, regression)}, scale));
  }
  beyond.deadline = Allowed(base.deadline, scale, regression);
  return beyond;
}

Sample AsBadness(const Sample& sample, Scale scale) {
  Sample bad = sample;
  for (Range& value : bad.values) value = Badness(value, scale);
  return bad;
}

enum class End { kLow, kHigh };

void Append(const Sample& sample, End end, double deadline, std::vector<Lifetime>& all) {
  for (const Range& value : sample.values) {
    const bool censored = Censored(value);
    const double time = censored || end == End::kLow ? value.low : value.high;
    const bool late = time > deadline;
    all.push_back({late ? deadline : time, censored || late});
  }
}

struct OneSided {
  double next_beyond = 1;  // p of: the new values are no greater
  double next_below = 1;   // p of: the new values are no less
};

OneSided Test(const Sample& base, End base_end, const Sample& next, End next_end, bool log_rank) {
  const double deadline = log_rank ? std::min(base.deadline, next.deadline) : kOpen;
  std::vector<Lifetime> all;
  Append(next, next_end, deadline, all);
  Append(base, base_end, deadline, all);
  std::vector<double> scores;
  if (log_rank) {
    scores = LogRankScores(all);
    for (double& score : scores) score = -score;  // late is high
  } else {
    std::vector<double> values;
    for (const Lifetime& one : all) values.push_back(one.time);
    scores = RankScores(values);
  }
  const std::optional<Tails> tails = PermutationTails(scores, next.values.size());
  return tails ? OneSided{tails->upper, tails->lower} : OneSided{};
}

std::optional<Range> MedianOf(const Sample& sample) {
  std::vector<Lifetime> low;
  std::vector<Lifetime> high;
  Append(sample, End::kLow, kOpen, low);
  Append(sample, End::kHigh, kOpen, high);
  const std::optional<double> least = KaplanMeierQuantile(low, 0.5);
  if (!least) return std::nullopt;
  return Range{*least, KaplanMeierQuantile(high, 0.5).value_or(kOpen)};
}

// P(first < second) over the pairs of different trials, read as the test reads them; two that are both open are equal.
double ShareBelow(const Sample& first, const Sample& second, bool same_trials) {
  double below = 0;
  double pairs = 0;
  for (size_t i = 0; i < first.values.size(); ++i) {
    for (size_t j = 0; j < second.values.size(); ++j) {
      if (same_trials && i == j) continue;
      const Range& x = first.values[i];
      const Range& y = second.values[j];
      ++pairs;
      if (x.high < y.low) below += 1;
      if (x.high == y.low || (Censored(x) && Censored(y))) below += 0.5;
    }
  }
  return pairs > 0 ? below / pairs : 0.5;
}

// The same from the spread of the logarithms, smoother where there are few: nullopt where a value is open or not above
// zero. Measurement error uses up a part of what is allowed.
std::optional<double> ShareBySpread(const Sample& base, double regression) {
  double sum = 0;
  double squares = 0;
  double width = 0;
  for (const Range& value : base.values) {
    if (Censored(value) || value.low <= 0) return std::nullopt;
    const double middle = (std::log(value.low) + std::log(value.high)) / 2;
    sum += middle;
    squares += middle * middle;
    width += std::log(value.high / value.low);
  }
  const auto n = static_cast<double>(base.values.size());
  const double spread = std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
  return ShareBeyondAt((1 + regression) / std::exp(width / n), spread);
}

std::optional<int> Needed(double share, const CompareOptions& options) {
  if (share >= 1) return FewestToDecide(options.alpha);
  return TrialsToCompare(share, options.alpha, options.power);
}

}  // namespace

MetricChange TestMetric(const MetricSamples& samples, const CompareOptions& options) {
  MetricChange change;
  change.name = samples.name;
  change.unit = samples.unit;
  change.scale = samples.scale;
  change.n_base = static_cast<int>(samples.base.values.size());
  change.n_next = static_cast<int>(samples.next.values.size());
  change.censored_base = CensoredIn(samples.base);
  change.censored_next = CensoredIn(samples.next);
  change.median_base = MedianOf(samples.base);
  change.median_next = MedianOf(samples.next);
  const double confidence = 1 - 2 * options.alpha;
  change.shift = HodgesLehmann(samples.base.values, samples.next.values, confidence);
  change.ratio = RatioOf(samples.base.values, samples.next.values, confidence);
  change.log_rank = change.censored_base + change.censored_next > 0;
  const Sample base = AsBadness(samples.base, samples.scale);
  const Sample beyond = Beyond(samples.base, samples.scale, options.max_regression);
  const Sample next = AsBadness(samples.next, samples.scale);
  change.p_worse = Test(beyond, End::kHigh, next, End::kLow, change.log_rank).next_beyond;
  change.p_no_worse = Test(beyond, End::kLow, next, End::kHigh, change.log_rank).next_below;
  change.p_better = Test(base, End::kLow, next, End::kHigh, change.log_rank).next_below;
  return change;
}

void SayHowMany(const MetricSamples& samples, const CompareOptions& options, MetricChange& change) {
  const int fewest = FewestToDecide(options.alpha);
  if (change.n_base < 2 || change.n_next < 1) {
    change.trials_needed = fewest;
    return;
  }
  const Sample base = AsBadness(samples.base, samples.scale);
  const Sample next = AsBadness(samples.next, samples.scale);
  const Sample beyond = Beyond(samples.base, samples.scale, options.max_regression);
  const std::optional<double> by_spread =
      samples.scale == Scale::kTime ? ShareBySpread(samples.base, options.max_regression) : std::nullopt;
  const std::optional<int> unchanged = Needed(by_spread.value_or(ShareBelow(base, beyond, true)), options);
  if (!unchanged) {
    change.why = "the allowed regression is lost in the base's own differences, or is measured no more finely";
    return;
  }
  if (*unchanged > std::min(change.n_base, change.n_next)) {
    change.trials_needed = unchanged;
    return;
  }
  // As many as an unchanged pipeline needs were run: it lies near the limit, on one side or the other.
  const double share = ShareBelow(next, beyond, false);
  change.trials_needed = Needed(std::max(share, 1 - share), options);
  if (!change.trials_needed) change.why = "the new run lies just at the limit";
}

std::string Name(Change change) {
  switch (change) {
    case Change::kImproved:
      return "improved";
    case Change::kNoWorse:
      return "no_worse";
    case Change::kTooFew:
      return "not_enough_trials";
    case Change::kRegressed:
      return "regressed";
  }
  return "";
}

}  // namespace triodrill
