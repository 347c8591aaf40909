#include "reports/measure/measure.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "reports/measure/monitoring.h"
#include "reports/measure/onset.h"
#include "reports/measure/recovery.h"
#include "reports/measure/signals.h"
#include "reports/measure/state_check.h"
#include "reports/measure/topology.h"
#include "reports/measure/trial_facts.h"
#include "reports/stats/stats.h"

namespace triodrill {
namespace {

constexpr double kDefaultTheta = 0.95;
constexpr Nanos kDefaultDetection = std::chrono::seconds(60);
constexpr Nanos kDefaultRecovery = std::chrono::minutes(5);

// The loader fills defaults in; a plan from elsewhere may lack them.
Nanos DeadlineOr(bool set, const google::protobuf::Duration& duration, Nanos otherwise) {
  return set && ToNanos(duration) > Nanos(0) ? ToNanos(duration) : otherwise;
}

struct Rules {
  Rules(const v1::Plan& plan, const Timeline& timeline)
      : topology(plan.partition().spec()),
        detection(DeadlineOr(plan.drill().spec().deadline().has_detection(), plan.drill().spec().deadline().detection(),
                             kDefaultDetection)),
        recovery(DeadlineOr(plan.drill().spec().deadline().has_recovery(), plan.drill().spec().deadline().recovery(),
                            kDefaultRecovery)),
        theta(plan.pipeline().spec().baseline().theta() > 0 ? plan.pipeline().spec().baseline().theta()
                                                            : kDefaultTheta),
        not_applicable(plan.pipeline().spec().not_applicable().begin(), plan.pipeline().spec().not_applicable().end()),
        references(FindReferences(timeline)) {
    for (const v1::Signal& signal : plan.pipeline().spec().signals()) {
      tells_states = tells_states || signal.means() == v1::STATE;
    }
  }
  Topology topology;
  Nanos detection;
  Nanos recovery;
  double theta;
  std::set<std::string> not_applicable;
  StateReferences references;
  bool tells_states = false;
};

void CheckShots(const TrialFacts& facts, TrialTrio& trial) {
  for (const ShotFacts& shot : facts.shots) {
    if (shot.failed != nullptr) {
      const v1::ShotFailed& said = shot.failed->failed();
      trial.problems.push_back(absl::StrCat("shot ", shot.shot, " failed (", said.stage(), "): ", said.problem()));
    } else if (shot.landed == nullptr) {
      trial.problems.push_back(absl::StrCat("shot ", shot.shot, ": no landing seen"));
    } else if (shot.landed->landed().sham() != facts.sham) {
      trial.problems.push_back(
          absl::StrCat("shot ", shot.shot, facts.sham ? ": landed in a sham trial" : ": was a sham"));
    }
  }
  if (facts.shots.empty()) trial.problems.push_back("no shot was fired");
}

// A report before the fault means that something else is going on: nothing that follows can be laid to the fault.
void CheckContamination(const TrialFacts& facts, const Onset& onset, TrialTrio& trial) {
  for (const v1::Fact* fact : facts.signals) {
    const Instant at = InstantOf(*fact);
    if (fact->signal().means() != v1::DETECTED || !Precedes(at, onset.t0)) continue;
    if (facts.baseline == nullptr || at.latest <= InstantOf(*facts.baseline).earliest) continue;
    trial.problems.push_back(absl::StrCat("contaminated: the pipeline reported a fault before any was there (signal ",
                                          fact->signal().signal(), " in ", fact->signal().source(), ")"));
    return;
  }
}

void CheckTrial(const TrialFacts& facts, TrialTrio& trial) {
  if (facts.baseline == nullptr) trial.problems.push_back("no steady baseline");
  if (facts.baseline != nullptr && facts.baseline->baseline().steps_per_s() <= 0) {
    trial.problems.push_back("the baseline has no step rate");
  }
  if (facts.planned == nullptr) {
    trial.problems.push_back("the plan has no such trial");
  } else if (facts.planned->sham() != facts.sham) {
    trial.problems.push_back("the plan says otherwise about whether it is a sham");
  }
  if (facts.ended == nullptr) {
    trial.problems.push_back("it did not end");
  } else if (!facts.ended->trial_ended().valid()) {
    const std::string& problem = facts.ended->trial_ended().problem();
    trial.problems.push_back(problem.empty() ? "the conductor called it invalid" : problem);
  }
}

void Cover(const char* step, bool seen, std::string evidence, const Rules& rules, TrialTrio& trial) {
  CoveredStep& covered = trial.coverage[step];
  covered.coverage = seen                                  ? Coverage::kSeen
                     : rules.not_applicable.contains(step) ? Coverage::kNotApplicable
                                                           : Coverage::kNotSeen;
  if (seen) covered.evidence = std::move(evidence);
}

// The first progress of a slot that did not serve before: a spare took over.
std::optional<Span> SpareTookOver(const TrialFacts& facts, const Onset& onset, const TrialTrio& trial,
                                  std::string& evidence) {
  for (const ProgressRow* row : facts.progress) {
    const std::string& slot = facts.table->SlotOf(*row);
    if (slot.empty() || Precedes(row->at, onset.t0)) continue;
    if (std::find(trial.members.begin(), trial.members.end(), slot) != trial.members.end()) continue;
    evidence = absl::StrCat("progress of ", slot, ", which did not serve before");
    return Between(onset.t0, row->at);
  }
  return std::nullopt;
}

void MeasureMilestones(const TrialFacts& facts, const Onset& onset, const Rules& rules, TrialTrio& trial) {
  Milestones& milestones = trial.milestones;
  std::string self_checked, isolated, replaced, spare;
  const bool checked = FirstSignal(facts, onset, v1::SELF_CHECKED, &self_checked).has_value();
  milestones.diagnosed = FirstSignal(facts, onset, v1::DIAGNOSED, checked ? nullptr : &self_checked);
  milestones.isolated = FirstSignal(facts, onset, v1::ISOLATED, &isolated);
  milestones.replaced = FirstSignal(facts, onset, v1::REPLACED, &replaced);
  milestones.restored = FirstSignal(facts, onset, v1::RESTORED);
  if (!milestones.replaced) {
    milestones.replaced = SpareTookOver(facts, onset, trial, spare);
    replaced = spare;
  }
  const bool evicted = !trial.isolation->evicted.empty();
  if (isolated.empty() && evicted) isolated = "no progress in the recovered window";
  std::string detected;
  if (trial.detected_by)
    detected = absl::StrCat("signal ", trial.detected_by->signal, " in ", trial.detected_by->source);
  const bool recovered = trial.recovery && !trial.recovery->censored();
  Cover("detect", trial.detected_by.has_value(), detected, rules, trial);
  Cover("self_check", checked || milestones.diagnosed, self_checked, rules, trial);
  Cover("isolate", evicted || milestones.isolated, isolated, rules, trial);
  Cover("replace", milestones.replaced.has_value(), replaced, rules, trial);
  Cover("recover", recovered, "steady progress past the high-water step", rules, trial);
}

void MeasureFalseAlarms(const TrialFacts& facts, const Onset& onset, TrialTrio& trial) {
  for (const v1::Fact* fact : facts.signals) {
    if (fact->signal().means() != v1::DETECTED || Precedes(InstantOf(*fact), onset.t0)) continue;
    PipelineReport report = ReportOf(*fact, onset);
    report.naming = report.named.empty() ? Naming::kUnattributed : Naming::kNeighbour;
    trial.false_alarms.push_back(std::move(report));
  }
}

TrialTrio MeasureTrial(const TrialFacts& facts, const Rules& rules) {
  TrialTrio trial;
  trial.trial = facts.number;
  trial.sham = facts.sham;
  CheckTrial(facts, trial);
  CheckShots(facts, trial);
  MeasureUndo(facts, trial);
  if (facts.baseline != nullptr) {
    const v1::BaselineSteady& baseline = facts.baseline->baseline();
    trial.baseline_steps_per_s = baseline.steps_per_s();
    const SlotSet serving(baseline.serving().begin(), baseline.serving().end());
    trial.serving.assign(serving.begin(), serving.end());
  }
  const std::optional<Onset> onset = FindOnset(facts, rules.topology);
  if (onset) {
    trial.landed = onset->t0;
    trial.withdrawn = onset->withdrawn;
    trial.targets = onset->targets;
    trial.observed = Between(onset->t0, facts.last);
    CheckContamination(facts, *onset, trial);
  }
  trial.valid = trial.problems.empty();
  if (!onset || facts.baseline == nullptr) return trial;
  const SlotSet members = MembersOfJob(facts, *onset);
  trial.members.assign(members.begin(), members.end());
  if (facts.sham) {
    MeasureFalseAlarms(facts, *onset, trial);
    return trial;
  }
  MeasureDetection(facts, *onset, rules.detection, trial);
  MeasureRecovery(facts, *onset, rules.topology, rules.theta, rules.recovery, trial);
  MeasureMilestones(facts, *onset, rules, trial);
  MeasureState(facts, *onset, rules.references, rules.tells_states, trial);
  return trial;
}

std::optional<Span> SpanOf(std::optional<double> low, std::optional<double> high) {
  if (!low || !high) return std::nullopt;
  return Span{Nanos(static_cast<int64_t>(*low)), Nanos(static_cast<int64_t>(*high))};
}

// Between which of the values the median lies; a censored value counts as later than all that it outlasted.
void BoundMedian(const std::vector<Lifetime>& shortest, const std::vector<Lifetime>& longest, Summary& summary) {
  const std::optional<RankInterval> ranks = QuantileRanks(summary.n, 0.5);
  if (!ranks) return;
  const auto value = [&](std::vector<Lifetime> lifetimes, int rank) -> std::optional<double> {
    std::sort(lifetimes.begin(), lifetimes.end(), [](const Lifetime& a, const Lifetime& b) { return a.time < b.time; });
    for (int i = 0; i < rank; ++i) {
      if (lifetimes[static_cast<size_t>(i)].censored) return std::nullopt;
    }
    return lifetimes[static_cast<size_t>(rank) - 1].time;
  };
  summary.median_between = SpanOf(value(shortest, ranks->low), value(longest, ranks->high));
  summary.median_confidence = summary.median_between ? ranks->confidence : 0;
}

Summary Summarise(const std::vector<TrialTrio>& trials, std::optional<Delay> TrialTrio::*figure) {
  Summary summary;
  std::vector<Lifetime> shortest, longest;
  for (const TrialTrio& trial : trials) {
    const std::optional<Delay>& delay = trial.*figure;
    if (trial.sham || !trial.valid || trial.masked || !delay) continue;
    ++summary.n;
    const Span span = delay->seen.value_or(Span{delay->censored_at, delay->censored_at});
    shortest.push_back({static_cast<double>(span.min.count()), delay->censored()});
    longest.push_back({static_cast<double>(span.max.count()), delay->censored()});
    if (delay->censored()) {
      ++summary.censored;
      continue;
    }
    summary.min = std::min(summary.min.value_or(span.min), span.min);
    summary.max = std::max(summary.max.value_or(span.max), span.max);
  }
  summary.p50 = SpanOf(KaplanMeierQuantile(shortest, 0.5), KaplanMeierQuantile(longest, 0.5));
  summary.p90 = SpanOf(KaplanMeierQuantile(shortest, 0.9), KaplanMeierQuantile(longest, 0.9));
  BoundMedian(shortest, longest, summary);
  return summary;
}

void NoteClock(const v1::ClockFact& said, std::map<std::string, ClockError>& clocks) {
  const ClockError error{said.node(), Nanos(said.offset_latest_ns() - said.offset_earliest_ns()),
                         Nanos(said.min_round_trip_ns())};
  const auto [entry, fresh] = clocks.emplace(said.node(), error);
  if (!fresh && entry->second.width < error.width) entry->second = error;
}

RunFacts MeasureRun(const Timeline& timeline) {
  RunFacts run;
  run.outcome = "incomplete";
  run.problem = timeline.problem;
  std::map<std::string, ClockError> clocks;
  for (const v1::Fact& fact : timeline.facts) {
    if (fact.has_run_started()) {
      const v1::RunStarted& said = fact.run_started();
      run.run_id = said.run_id();
      run.tool_version = said.tool_version();
      run.plan_digest = said.plan_digest();
      run.wall_text = said.wall_text();
      run.operator_name = said.operator_name();
      run.host = said.host();
      run.kernel = said.kernel();
      run.began = InstantOf(fact);
    } else if (fact.has_run_ended() && timeline.complete) {
      run.outcome = fact.run_ended().outcome();
      run.problem = fact.run_ended().problem();
    } else if (fact.has_gate() && !fact.gate().permitted()) {
      for (const v1::Check& check : fact.gate().checks()) {
        if (check.passed()) continue;
        run.refusals.push_back(
            absl::StrCat(check.name(), ": ", check.saw(), check.hint().empty() ? "" : "; hint: ", check.hint()));
      }
    } else if (fact.has_clock()) {
      NoteClock(fact.clock(), clocks);
    } else if (fact.has_remark()) {
      run.remarks.push_back(fact.remark().text());
    }
    if (InstantOf(fact).latest > run.ended.latest) run.ended = InstantOf(fact);
  }
  for (const ProgressRow& row : timeline.progress.rows()) {
    if (row.at.latest > run.ended.latest) run.ended = row.at;
  }
  for (const auto& [node, error] : clocks) run.clocks.push_back(error);
  return run;
}

}  // namespace

Trio Measure(const v1::Plan& plan, const Timeline& timeline) {
  const Rules rules(plan, timeline);
  Trio trio;
  trio.drill = plan.drill().metadata().name();
  const auto& simulated = plan.partition().spec().environment().simulated();
  trio.simulated.assign(simulated.begin(), simulated.end());
  trio.run = MeasureRun(timeline);
  trio.run.origin = MeasureOrigin(plan, timeline);
  const v1::PipelineSpec& pipeline = plan.pipeline().spec();
  if (pipeline.has_monitoring() || pipeline.has_slurm()) {
    trio.run.monitoring = MeasureMonitoring(timeline, pipeline.has_monitoring());
  }
  for (const v1::PlannedTrial& trial : plan.trials()) ++(trial.sham() ? trio.planned_sham : trio.planned_faulted);
  for (const TrialFacts& facts : SplitTrials(plan, timeline)) trio.trials.push_back(MeasureTrial(facts, rules));
  trio.detection_latency = Summarise(trio.trials, &TrialTrio::detection);
  trio.recovery_time = Summarise(trio.trials, &TrialTrio::recovery);
  for (const TrialTrio& trial : trio.trials) {
    if (!trial.sham || !trial.valid) continue;
    ++trio.sham_trials;
    trio.false_alarms += static_cast<int>(trial.false_alarms.size());
  }
  for (const ShotFacts& shot : StrayShots(plan, timeline)) {
    if (std::optional<OpenUndo> open = OpenUndoOf(shot, false)) trio.stray_undos.push_back(*std::move(open));
  }
  return trio;
}

}  // namespace triodrill
