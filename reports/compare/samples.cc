// From trials to samples.
#include <cmath>

#include "reports/compare/compare.h"

namespace triodrill {
namespace {

constexpr double kOpen = std::numeric_limits<double>::infinity();

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

Range Of(const Delay& delay) {
  if (delay.seen) return {Seconds(delay.seen->min), Seconds(delay.seen->max)};
  return {Seconds(delay.censored_at), kOpen};
}
Range Exactly(double value) { return {value, value}; }

// Trials that figures are made of.
bool Counts(const TrialTrio& trial) { return trial.valid && !trial.sham && !trial.masked && trial.landed; }

template <typename Value>
Sample FaultedTrials(const Trio& trio, Value value, double deadline = kOpen) {
  Sample sample;
  sample.deadline = deadline;
  for (const TrialTrio& trial : trio.trials) {
    if (!Counts(trial)) continue;
    if (const std::optional<Range> range = value(trial)) sample.values.push_back(*range);
  }
  return sample;
}

double Deadline(const google::protobuf::Duration& duration) {
  const double seconds = Seconds(ToNanos(duration));
  return seconds > 0 ? seconds : kOpen;
}

Sample DetectionOf(const ComparedRun& run) {
  return FaultedTrials(
      *run.trio,
      [](const TrialTrio& trial) { return trial.detection ? std::optional(Of(*trial.detection)) : std::nullopt; },
      Deadline(run.plan->drill().spec().deadline().detection()));
}

Sample RecoveryOf(const ComparedRun& run) {
  return FaultedTrials(
      *run.trio,
      [](const TrialTrio& trial) { return trial.recovery ? std::optional(Of(*trial.recovery)) : std::nullopt; },
      Deadline(run.plan->drill().spec().deadline().recovery()));
}

// A job that never went on lost nobody knows how many.
Sample StepsLostOf(const ComparedRun& run) {
  return FaultedTrials(*run.trio, [](const TrialTrio& trial) -> std::optional<Range> {
    return trial.steps_lost ? Exactly(static_cast<double>(*trial.steps_lost)) : Range{0, kOpen};
  });
}

Sample CollateralOf(const ComparedRun& run) {
  return FaultedTrials(*run.trio, [](const TrialTrio& trial) -> std::optional<Range> {
    if (!trial.isolation) return std::nullopt;
    if (trial.isolation->basis == Basis::kUnknown) return Range{0, kOpen};
    return Exactly(static_cast<double>(trial.isolation->collateral.size()));
  });
}

Sample RestartedOf(const ComparedRun& run) {
  return FaultedTrials(*run.trio, [](const TrialTrio& trial) -> std::optional<Range> {
    if (!trial.interruption) return std::nullopt;
    return Exactly(static_cast<double>(trial.interruption->restarted.size()));
  });
}

// Of a job that never became steady nothing is left.
Sample CapacityOf(const ComparedRun& run) {
  return FaultedTrials(
      *run.trio, [](const TrialTrio& trial) -> std::optional<Range> { return Exactly(trial.capacity.value_or(0)); });
}

Sample AlarmsOf(const ComparedRun& run) {
  Sample sample;
  for (const TrialTrio& trial : run.trio->trials) {
    if (trial.valid && trial.sham) sample.values.push_back(Exactly(static_cast<double>(trial.false_alarms.size())));
  }
  return sample;
}

struct MetricRow {
  const char* name;
  const char* unit;
  Scale scale;
  Sample (*of)(const ComparedRun& run);
};

constexpr MetricRow kMetrics[] = {
    {"detection_latency", "s", Scale::kTime, &DetectionOf}, {"recovery_time", "s", Scale::kTime, &RecoveryOf},
    {"steps_lost", "steps", Scale::kCount, &StepsLostOf},   {"collateral", "slots", Scale::kCount, &CollateralOf},
    {"restarted", "slots", Scale::kCount, &RestartedOf},    {"capacity", "", Scale::kShare, &CapacityOf},
    {"false_alarms", "alarms", Scale::kCount, &AlarmsOf},
};

}  // namespace

std::vector<MetricSamples> SamplesOf(const ComparedRun& base, const ComparedRun& next) {
  std::vector<MetricSamples> all;
  for (const MetricRow& row : kMetrics) {
    MetricSamples samples{row.name, row.unit, row.scale, row.of(base), row.of(next)};
    if (!samples.base.values.empty() || !samples.next.values.empty()) all.push_back(std::move(samples));
  }
  return all;
}

}  // namespace triodrill
