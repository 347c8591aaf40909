#include "reports/render/trio_json.h"

#include "nlohmann/json.hpp"
#include "reports/render/json_text.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

Json Of(const Span& span) { return {{"min_s", Seconds(span.min)}, {"max_s", Seconds(span.max)}}; }
Json Of(const Instant& at) { return {{"earliest_ns", ToNanos(at.earliest)}, {"latest_ns", ToNanos(at.latest)}}; }
Json Of(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}
Json Of(const PipelineReport& report);
Json Of(const Isolation& isolation);
Json Of(const Interruption& interruption);

template <typename T>
Json Optional(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<T, Nanos>) {
    return Seconds(*value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return *value;
  } else {
    return Of(*value);
  }
}

Json Of(const PipelineReport& report) {
  Json tree = Of(report.since_onset);
  tree["named"] = Name(report.naming);
  tree["names"] = report.named;
  tree["signal"] = report.signal;
  tree["source"] = report.source;
  tree["raw"] = report.raw;
  if (!report.claimed_time.empty()) tree["claimed_time"] = report.claimed_time;
  return tree;
}

Json Of(const std::vector<PipelineReport>& reports) {
  Json list = Json::array();
  for (const PipelineReport& report : reports) list.push_back(Of(report));
  return list;
}

Json Of(const Delay& delay) {
  if (delay.seen) {
    Json tree = Of(*delay.seen);
    tree["censored"] = false;
    return tree;
  }
  return {{"censored", true}, {"censored_at_s", Seconds(delay.censored_at)}, {"why", delay.why_censored}};
}

Json Detection(const TrialTrio& trial) {
  Json tree = Of(*trial.detection);
  if (trial.detected_by) {
    tree["source"] = trial.detected_by->source;
    tree["signal"] = trial.detected_by->signal;
    tree["named"] = Name(trial.detected_by->naming);
    tree["names"] = trial.detected_by->named;
  }
  return tree;
}

Json Recovery(const TrialTrio& trial) {
  Json tree = Of(*trial.recovery);
  tree["not_interrupted"] = trial.not_interrupted;
  if (trial.steady_after_withdrawal) tree["after_withdrawal_s"] = Of(*trial.steady_after_withdrawal);
  return tree;
}

Json Of(const Isolation& isolation) {
  return {{"basis", Name(isolation.basis)},
          {"level", isolation.basis == Basis::kUnknown ? Json(nullptr) : Json(Name(isolation.level))},
          {"precision", Optional(isolation.precision)},
          {"recall", Optional(isolation.recall)},
          {"faulted", Of(isolation.faulted)},
          {"evicted", Of(isolation.evicted)},
          {"collateral", Of(isolation.collateral)},
          {"missed", Of(isolation.missed)}};
}

Json Of(const Interruption& interruption) {
  return {{"level", Name(interruption.level)},
          {"interrupted", Of(interruption.interrupted)},
          {"share", interruption.share},
          {"restarted", Of(interruption.restarted)},
          {"restart_level", Name(interruption.restart_level)}};
}

Json Of(const Milestones& milestones) {
  return {{"detected", Optional(milestones.detected)},   {"diagnosed", Optional(milestones.diagnosed)},
          {"isolated", Optional(milestones.isolated)},   {"replaced", Optional(milestones.replaced)},
          {"restored", Optional(milestones.restored)},   {"resumed", Optional(milestones.resumed)},
          {"caught_up", Optional(milestones.caught_up)}, {"steady", Optional(milestones.steady)}};
}

Json Targets(const std::vector<FaultedTarget>& targets) {
  Json list = Json::array();
  for (const FaultedTarget& target : targets) {
    list.push_back({{"shot", target.shot},
                    {"kind", target.kind},
                    {"level", Name(target.level)},
                    {"node", target.node},
                    {"slot", target.slot},
                    {"landed", Of(target.landed)},
                    {"evidence", target.evidence}});
  }
  return list;
}

Json Of(const std::vector<OpenUndo>& undos) {
  Json list = Json::array();
  for (const OpenUndo& open : undos) {
    list.push_back({{"shot", open.shot}, {"node", open.node}, {"problem", open.problem}, {"by_hand", open.by_hand}});
  }
  return list;
}

// What only a trial with the fault has.
void AddFigures(const TrialTrio& trial, Json& tree) {
  tree["detection_latency"] = trial.detection ? Detection(trial) : Json(nullptr);
  tree["reports"] = trial.reports;
  tree["first_report"] = Optional(trial.first_report);
  tree["misattributed"] = Of(trial.misattributed);
  tree["uncredited"] = Of(trial.uncredited);
  tree["first_symptom"] = Optional(trial.first_symptom);
  tree["symptoms"] = trial.symptoms;
  tree["isolation"] = Optional(trial.isolation);
  tree["interruption"] = Optional(trial.interruption);
  tree["recovery_time"] = trial.recovery ? Recovery(trial) : Json(nullptr);
  tree["milestones"] = Of(trial.milestones);
  tree["high_water_step"] = Optional(trial.high_water_step);
  tree["restored_step"] = Optional(trial.restored_step);
  tree["steps_lost"] = Optional(trial.steps_lost);
  tree["effective_time_ratio"] = Optional(trial.effective_time_ratio);
  tree["capacity"] = Optional(trial.capacity);
  tree["serving_after"] = Of(trial.serving_after);
  tree["state_check"] = Name(trial.state.answer);
  tree["states_compared"] = trial.state.compared;
  tree["state_first_different"] = trial.state.first_different;
  tree["masked"] = trial.masked;
  Json coverage = Json::object();
  for (const char* step : {"detect", "self_check", "isolate", "replace", "recover"}) {
    const auto found = trial.coverage.find(step);
    coverage[step] = Name(found == trial.coverage.end() ? Coverage::kNotSeen : found->second.coverage);
  }
  tree["coverage"] = trial.coverage.empty() ? Json(nullptr) : coverage;
}

Json Of(const TrialTrio& trial) {
  Json tree = {{"trial", trial.trial},
               {"sham", trial.sham},
               {"valid", trial.valid},
               {"problems", Of(trial.problems)},
               {"landed", Optional(trial.landed)},
               {"withdrawn", Optional(trial.withdrawn)},
               {"observed", trial.landed ? Of(trial.observed) : Json(nullptr)},
               {"targets", Targets(trial.targets)},
               {"baseline_steps_per_s", trial.baseline_steps_per_s},
               {"serving", Of(trial.serving)}};
  if (trial.sham) {
    tree["false_alarms"] = Of(trial.false_alarms);
  } else {
    AddFigures(trial, tree);
  }
  tree["undo"] = Name(trial.undo);
  tree["open_undos"] = Of(trial.open_undos);
  return tree;
}

Json Of(const Summary& summary) {
  Json between = nullptr;
  if (summary.median_between) {
    between = Of(*summary.median_between);
    between["confidence"] = summary.median_confidence;
  }
  return {{"n", summary.n},
          {"censored", summary.censored},
          {"p50_s", Optional(summary.p50)},
          {"p90_s", Optional(summary.p90)},
          {"median_between_s", between},
          {"min_s", Optional(summary.min)},
          {"max_s", Optional(summary.max)}};
}

Json Of(const RunFacts& run) {
  Json clocks = Json::array();
  for (const ClockError& clock : run.clocks) {
    clocks.push_back({{"node", clock.node},
                      {"offset_width_s", Seconds(clock.width)},
                      {"min_round_trip_s", Seconds(clock.min_round_trip)}});
  }
  Json json{{"run_id", run.run_id},
            {"tool_version", run.tool_version},
            {"plan_digest", run.plan_digest},
            {"started", run.wall_text},
            {"operator", run.operator_name},
            {"host", run.host},
            {"kernel", run.kernel},
            {"outcome", run.outcome},
            {"problem", run.problem},
            {"refusals", Of(run.refusals)},
            {"window", {{"earliest_ns", ToNanos(run.began.earliest)}, {"latest_ns", ToNanos(run.ended.latest)}}},
            {"clocks", clocks}};
  if (run.monitoring) {
    json["monitoring"] = {{"parts", run.monitoring->parts},
                          {"changes", Of(run.monitoring->changes)},
                          {"gaps", Of(run.monitoring->gaps)},
                          {"problem", run.monitoring->problem}};
  }
  return json;
}

}  // namespace

Json TrioTree(const Trio& trio) {
  Json trials = Json::array();
  for (const TrialTrio& trial : trio.trials) trials.push_back(Of(trial));
  return {{"schema", "triodrill/trio/v1"},
          {"drill", trio.drill},
          {"simulated", Of(trio.simulated)},
          {"run", Of(trio.run)},
          {"planned", {{"faulted", trio.planned_faulted}, {"sham", trio.planned_sham}}},
          {"trials", trials},
          {"summary",
           {{"detection_latency", Of(trio.detection_latency)},
            {"recovery_time", Of(trio.recovery_time)},
            {"false_alarms", {{"sham_trials", trio.sham_trials}, {"alarms", trio.false_alarms}}}}},
          {"stray_undos", Of(trio.stray_undos)}};
}

std::string TrioJson(const Trio& trio) { return JsonText(TrioTree(trio)); }

}  // namespace triodrill
