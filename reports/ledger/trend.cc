#include "reports/ledger/trend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "reports/compare/compare.h"
#include "reports/stats/distributions.h"
#include "reports/stats/power.h"
#include "reports/stats/stats.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

constexpr double kOpen = std::numeric_limits<double>::infinity();
constexpr double kConfidence = 0.95;

constexpr std::string_view kLadder[] = {"none", "process", "gpu", "node", "segment", "group", "job", "partition"};

struct MetricRow {
  Metric metric;
  const char* name;
  const char* unit;
  Scale scale;
};
constexpr MetricRow kMetrics[] = {
    {Metric::kDetectionLatency, "detection_latency", "s", Scale::kTime},
    {Metric::kCollateral, "collateral", "slots", Scale::kCount},
    {Metric::kRecoveryTime, "recovery_time", "s", Scale::kTime},
    {Metric::kFalseAlarms, "false_alarms", "alarms", Scale::kCount},
};

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

Range RangeOf(const Timed& time) { return {Seconds(time.low), time.high ? Seconds(*time.high) : kOpen}; }
Range Exactly(int64_t value) { return {static_cast<double>(value), static_cast<double>(value)}; }

// Trials that figures are made of, as in reports/compare.
bool Counts(const TrialRow& trial) {
  return trial.valid && !trial.sham && !trial.masked && trial.detection.has_value();
}

std::optional<Range> ValueOf(const TrialRow& trial, Metric metric) {
  if (metric == Metric::kFalseAlarms) {
    return trial.valid && trial.sham ? std::optional(Exactly(trial.false_alarms)) : std::nullopt;
  }
  if (!Counts(trial)) return std::nullopt;
  switch (metric) {
    case Metric::kDetectionLatency:
      return RangeOf(*trial.detection);
    case Metric::kRecoveryTime:
      return trial.recovery ? std::optional(RangeOf(*trial.recovery)) : std::nullopt;
    case Metric::kCollateral:
      return trial.collateral ? Exactly(*trial.collateral) : Range{0, kOpen};  // nobody knows how many
    case Metric::kFalseAlarms:
      break;
  }
  return std::nullopt;
}

double DeadlineOf(const RunRow& run, Metric metric) {
  const Nanos deadline = metric == Metric::kDetectionLatency ? run.detection_deadline
                         : metric == Metric::kRecoveryTime   ? run.recovery_deadline
                                                             : Nanos(0);
  return deadline > Nanos(0) ? Seconds(deadline) : kOpen;
}

bool Censored(const Range& value) { return std::isinf(value.high); }

std::optional<Range> MedianOf(const Sample& sample) {
  std::vector<Lifetime> low;
  std::vector<Lifetime> high;
  for (const Range& value : sample.values) {
    low.push_back({value.low, Censored(value)});
    high.push_back({Censored(value) ? value.low : value.high, Censored(value)});
  }
  const std::optional<double> least = KaplanMeierQuantile(low, 0.5);
  if (!least) return std::nullopt;
  return Range{*least, KaplanMeierQuantile(high, 0.5).value_or(kOpen)};
}

// The values' lower ends, sorted, are below the values, sorted, one by one; and the upper ends above them. So it holds
// with censored values as well: they are open above.
std::optional<Range> IntervalOf(const Sample& sample, double& confidence) {
  const std::optional<RankInterval> ranks = QuantileRanks(static_cast<int>(sample.values.size()), 0.5, kConfidence);
  if (!ranks) return std::nullopt;
  std::vector<double> low;
  std::vector<double> high;
  for (const Range& value : sample.values) {
    low.push_back(value.low);
    high.push_back(value.high);
  }
  std::sort(low.begin(), low.end());
  std::sort(high.begin(), high.end());
  confidence = ranks->confidence;
  return Range{low[static_cast<size_t>(ranks->low) - 1], high[static_cast<size_t>(ranks->high) - 1]};
}

// Runs that may be put together.
struct Group {
  std::string drill, pipeline, release, conditions;
  std::vector<const RunRow*> runs;  // by start
};
using Groups = std::vector<Group>;

Groups GroupsIn(const LedgerRows& rows, const Quarter& quarter) {
  Groups groups;
  for (const RunRow& run : rows.runs) {
    if (QuarterOf(run.started) != quarter) continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return std::tie(group.drill, group.pipeline, group.release, group.conditions) ==
             std::tie(run.drill, run.pipeline, run.release, run.conditions);
    });
    if (at == groups.end()) {
      at = groups.insert(groups.end(), Group{run.drill, run.pipeline, run.release, run.conditions, {}});
    }
    at->runs.push_back(&run);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::tie(a.drill, a.pipeline) < std::tie(b.drill, b.pipeline);
  });
  return groups;
}

// Of the same drill and pipeline: rather under the same conditions, then of the same release, then the one run last.
const Group* BaseOf(const Group& group, const Groups& before) {
  const Group* best = nullptr;
  const auto worth = [&](const Group& one) {
    return std::tuple(one.conditions == group.conditions, one.release == group.release, one.runs.back()->started);
  };
  for (const Group& one : before) {
    if (one.drill != group.drill || one.pipeline != group.pipeline) continue;
    if (best == nullptr || worth(*best) < worth(one)) best = &one;
  }
  return best;
}

std::vector<std::string> DifferencesBetween(const LedgerRows& rows, const Group& group, const Group& base) {
  if (group.conditions == base.conditions) return {};
  const auto of = [&](const std::string& digest) {
    const auto at = rows.conditions.find(digest);
    return at == rows.conditions.end() ? Conditions() : at->second;
  };
  const Conditions now = of(group.conditions);
  const Conditions then = of(base.conditions);
  std::set<std::string> names;
  for (const auto& [what, value] : now) {
    if (!then.contains(what) || then.at(what) != value) names.insert(what);
  }
  for (const auto& [what, value] : then) {
    if (!now.contains(what)) names.insert(what);
  }
  if (names.empty()) names.insert("conditions");
  return {names.begin(), names.end()};
}

TrendPeriod PeriodOf(const Group& group) {
  const auto passed =
      std::count_if(group.runs.begin(), group.runs.end(), [](const RunRow* run) { return run->exit_code == 0; });
  return {group.release, ShareOf(passed, static_cast<int64_t>(group.runs.size())), LevelFigureOf(group.runs)};
}

// Where a row's metric stands among those that are compared.
struct Compared {
  size_t row;
  size_t metric;
};

}  // namespace

Sample SampleOf(const std::vector<const RunRow*>& runs, Metric metric) {
  Sample sample;
  for (const RunRow* run : runs) {
    sample.deadline = std::min(sample.deadline, DeadlineOf(*run, metric));
    for (const TrialRow& trial : run->trials) {
      if (const std::optional<Range> value = ValueOf(trial, metric)) sample.values.push_back(*value);
    }
  }
  return sample;
}

Figure RunFigureOf(const Sample& sample) {
  Figure figure;
  figure.n = static_cast<int>(sample.values.size());
  figure.censored = static_cast<int>(std::count_if(sample.values.begin(), sample.values.end(), &Censored));
  figure.median = MedianOf(sample);
  return figure;
}

Figure FigureOf(const Sample& sample) {
  Figure figure = RunFigureOf(sample);
  figure.needed = TrialsForMedian(kConfidence).value_or(0);
  if (figure.enough()) {
    figure.interval = IntervalOf(sample, figure.confidence);
  } else {
    figure.median = std::nullopt;
  }
  return figure;
}

Share ShareOf(int64_t k, int64_t n) {
  Share share{.k = k, .n = n};
  if (n <= 0) return share;
  const ShareLimits limits = BinomialLimits(static_cast<int>(k), static_cast<int>(n), kConfidence);
  share.low = limits.low;
  share.high = limits.high;
  return share;
}

LevelFigure LevelFigureOf(const std::vector<const RunRow*>& runs) {
  LevelFigure figure{.needed = TrialsForMedian(kConfidence).value_or(0)};
  std::vector<size_t> levels;
  for (const RunRow* run : runs) {
    for (const TrialRow& trial : run->trials) {
      if (!Counts(trial)) continue;
      const auto at = std::find(std::begin(kLadder), std::end(kLadder), trial.level);
      if (at == std::end(kLadder)) {
        ++figure.unknown;
      } else {
        levels.push_back(static_cast<size_t>(at - std::begin(kLadder)));
      }
    }
  }
  std::sort(levels.begin(), levels.end());
  figure.n = static_cast<int>(levels.size());
  if (levels.empty()) return figure;
  if (figure.n >= figure.needed) figure.median = kLadder[levels[levels.size() / 2]];
  figure.worst = kLadder[levels.back()];
  return figure;
}

Trend TrendOf(const LedgerRows& rows, const TrendOptions& options) {
  Trend trend{.quarter = options.quarter, .before = Before(options.quarter), .options = options.compare};
  const Groups now = GroupsIn(rows, trend.quarter);
  const Groups before = GroupsIn(rows, trend.before);
  std::vector<MetricSamples> samples;
  std::vector<Compared> compared;
  for (const Group& group : now) {
    TrendRow row{.drill = group.drill, .pipeline = group.pipeline, .simulated = group.runs.front()->simulated};
    row.conditions = group.conditions;
    row.now = PeriodOf(group);
    const Group* const base = BaseOf(group, before);
    if (base != nullptr) {
      row.before = PeriodOf(*base);
      row.differences = DifferencesBetween(rows, group, *base);
    }
    for (const MetricRow& metric : kMetrics) {
      const Sample is = SampleOf(group.runs, metric.metric);
      const Sample was = base == nullptr ? Sample() : SampleOf(base->runs, metric.metric);
      if (is.values.empty() && was.values.empty()) continue;
      row.metrics.push_back({metric.name, metric.unit, FigureOf(is), FigureOf(was), std::nullopt});
      if (is.values.empty() || was.values.empty() || (!row.differences.empty() && !options.across)) continue;
      samples.push_back({metric.name, metric.unit, metric.scale, was, is});
      compared.push_back({trend.rows.size(), row.metrics.size() - 1});
    }
    trend.rows.push_back(std::move(row));
  }
  std::vector<MetricChange> changes = CompareMetrics(samples, options.compare);
  trend.compared = changes.size();
  for (size_t i = 0; i < changes.size(); ++i) {
    trend.rows[compared[i].row].metrics[compared[i].metric].change = std::move(changes[i]);
  }
  std::set<std::string> gone;
  for (const Group& group : before) gone.insert(Cat(group.drill, ", ", group.pipeline));
  for (const Group& group : now) gone.erase(Cat(group.drill, ", ", group.pipeline));
  trend.not_drilled.assign(gone.begin(), gone.end());
  for (const IncidentRow& incident : rows.incidents) {
    if (QuarterOf(incident.started) == trend.quarter) trend.incidents.push_back(incident);
    if (QuarterOf(incident.started) == trend.before) trend.incidents_before.push_back(incident);
  }
  return trend;
}

}  // namespace triodrill::ledger
