// One metric of two runs: is the new one worse than is allowed? Pure.
//
// Three one-sided tests, each exact (permutation.h) and each with every value moved to the end of its range that speaks
// against what is claimed, so that measurement error can hide a change and never make one:
//   worse     the new values lie beyond the base's times (1 + the allowed regression)
//   no worse  they lie below that
//   better    they lie below the base's own
// Where a value is censored the scores are those of the log-rank test, and both groups are looked at up to the same
// deadline; else ranks.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/stats/shift.h"

namespace triodrill {

enum class Scale {
  kTime,   // less is better, a regression is a factor
  kCount,  // the same in whole numbers: a regression of less than a half is none
  kShare,  // more is better
};

// The values of one run. One that is open above is censored at its lower end.
struct Sample {
  std::vector<Range> values;
  double deadline = std::numeric_limits<double>::infinity();  // nothing was waited for longer
};

struct MetricSamples {
  std::string name;  // as in trio.json
  std::string unit;  // "s", "steps", ""
  Scale scale = Scale::kTime;
  Sample base;
  Sample next;
};

struct CompareOptions {
  double max_regression = 0.10;
  double alpha = 0.05;
  double power = 0.8;  // with which "so many trials would be enough" is meant
};

enum class Change { kImproved, kNoWorse, kTooFew, kRegressed };

struct MetricChange {
  std::string name;
  std::string unit;
  Scale scale = Scale::kTime;
  int n_base = 0, n_next = 0;
  int censored_base = 0, censored_next = 0;
  std::optional<Range> median_base, median_next;  // Kaplan-Meier; open above where censoring leaves it so
  std::optional<PairwiseShift> shift, ratio;      // intervals at 1 - 2 alpha: what the one-sided tests decide by
  bool log_rank = false;
  double p_worse = 1, p_no_worse = 1, p_better = 1;
  double adjusted_worse = 1, adjusted_better = 1;  // Holm, over all metrics of the comparison
  Change change = Change::kTooFew;
  std::optional<int> trials_needed;  // on each side, where there are not enough
  std::string why;                   // why more trials would not help
};

// All but the adjusted values, `change` and what follows from it.
MetricChange TestMetric(const MetricSamples& samples, const CompareOptions& options);

// How many trials on each side would decide. `change.why` is filled in where no number would.
void SayHowMany(const MetricSamples& samples, const CompareOptions& options, MetricChange& change);

std::string Name(Change change);  // "improved", "no_worse", "not_enough_trials", "regressed"

}  // namespace triodrill
