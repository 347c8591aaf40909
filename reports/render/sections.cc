#include "reports/render/sections.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "reports/render/number.h"

namespace triodrill {
namespace {

std::string Listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

std::string Words(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string WhomItNames(const PipelineReport& report) {
  switch (report.naming) {
    case Naming::kFaulted:
      return absl::StrCat("names ", report.named, ", the faulted");
    case Naming::kUnattributed:
      return "names nobody";
    case Naming::kNeighbour:
      return absl::StrCat("names ", report.named, ", which was not faulted");
  }
  return "";
}

std::string ReportText(const PipelineReport& report) {
  return absl::StrCat(SpanText(report.since_onset), ", ", WhomItNames(report), " (signal ", report.signal, ", ",
                      report.source, ")");
}

std::string CensoredText(const Delay& delay) {
  return absl::StrCat("censored at ", SecondsText(delay.censored_at), ": ", delay.why_censored);
}

std::string DetectionText(const TrialTrio& trial) {
  if (!trial.detection) return "not measured";
  if (trial.detection->censored()) return CensoredText(*trial.detection);
  const PipelineReport& by = *trial.detected_by;
  return absl::StrCat(SpanText(*trial.detection->seen), ", ", WhomItNames(by), " (signal ", by.signal, ", ", by.source,
                      ")");
}

std::string IsolationText(const TrialTrio& trial) {
  if (!trial.isolation) return "not measured";
  const Isolation& isolation = *trial.isolation;
  if (isolation.basis == Basis::kUnknown) {
    return "unknown: the job never became steady again and the pipeline named nobody it isolated";
  }
  std::string text = Name(isolation.level);
  if (isolation.evicted.empty()) {
    absl::StrAppend(&text, ": nothing was evicted");
  } else {
    absl::StrAppend(&text, ": evicted ", Listed(isolation.evicted));
  }
  if (isolation.basis == Basis::kReported) absl::StrAppend(&text, " (as reported; the job never became steady again)");
  if (isolation.precision) absl::StrAppend(&text, "; precision ", RatioText(*isolation.precision));
  if (isolation.recall) absl::StrAppend(&text, "; recall ", RatioText(*isolation.recall));
  if (!isolation.collateral.empty()) absl::StrAppend(&text, "; collateral ", Listed(isolation.collateral));
  if (!isolation.missed.empty()) absl::StrAppend(&text, "; missed ", Listed(isolation.missed));
  return text;
}

std::string InterruptionText(const TrialTrio& trial) {
  if (!trial.interruption) return "not measured";
  const Interruption& interruption = *trial.interruption;
  if (interruption.interrupted.empty()) return "none: nobody stopped or restarted";
  return absl::StrCat(Name(interruption.level), ": ", Listed(interruption.interrupted), " (",
                      PercentText(interruption.share), " of the job)");
}

std::string RestartsText(const TrialTrio& trial) {
  if (!trial.interruption) return "not measured";
  const Interruption& interruption = *trial.interruption;
  if (interruption.restarted.empty()) return "none: every process of the job stayed";
  return absl::StrCat(Name(interruption.restart_level), ": ", Listed(interruption.restarted));
}

std::string StateText(const StateCheck& state) {
  const std::string compared = CountText(state.compared, "state", "states");
  if (state.answer == StateAnswer::kEqual) return absl::StrCat("equal to a run without a fault (", compared, ")");
  if (state.answer == StateAnswer::kDifferent) {
    return absl::StrCat("differs from a run without a fault, first at ", state.first_different, " (", compared, ")");
  }
  return Words(Name(state.answer));
}

std::string RecoveryText(const TrialTrio& trial) {
  if (!trial.recovery) return "not measured";
  if (trial.recovery->censored()) {
    std::string text = CensoredText(*trial.recovery);
    if (trial.steady_after_withdrawal) {
      absl::StrAppend(&text, "; steady ", SpanText(*trial.steady_after_withdrawal), " after the withdrawal");
    }
    return text;
  }
  return absl::StrCat(SpanText(*trial.recovery->seen),
                      trial.not_interrupted ? ", not interrupted: the rate never fell below the threshold" : "");
}

std::string MilestonesText(const Milestones& milestones) {
  std::vector<std::string> said;
  const auto add = [&](const char* name, const std::optional<Span>& span) {
    if (span) said.push_back(absl::StrCat(name, " ", SpanText(*span)));
  };
  add("detected", milestones.detected);
  add("diagnosed", milestones.diagnosed);
  add("isolated", milestones.isolated);
  add("replaced", milestones.replaced);
  add("restored", milestones.restored);
  add("resumed", milestones.resumed);
  add("caught up", milestones.caught_up);
  add("steady", milestones.steady);
  return Listed(said);
}

std::string StepsText(const TrialTrio& trial) {
  const std::string high = trial.high_water_step ? absl::StrCat("high-water step ", *trial.high_water_step) : "";
  if (!trial.steps_lost) return absl::StrCat("unknown: the job never went on (", high, ")");
  return absl::StrCat(CountText(*trial.steps_lost, "step", "steps"), " (", high, ", ",
                      trial.restored_step ? absl::StrCat("restored ", *trial.restored_step) : "nothing restored", ")");
}

std::string CapacityText(const TrialTrio& trial) {
  std::string text = trial.capacity ? absl::StrCat(PercentText(*trial.capacity), " of the ranks serve") : "unknown";
  if (trial.effective_time_ratio) {
    absl::StrAppend(&text, "; effective time ", PercentText(*trial.effective_time_ratio), " of ",
                    SecondsText(trial.observed.min));
  }
  return text;
}

std::string CoverageText(const TrialTrio& trial) {
  std::vector<std::string> said;
  for (const char* step : {"detect", "self_check", "isolate", "replace", "recover"}) {
    const auto found = trial.coverage.find(step);
    if (found == trial.coverage.end()) continue;
    said.push_back(absl::StrCat(Words(step), " ", Words(Name(found->second.coverage))));
  }
  return Listed(said);
}

std::string UndoText(const TrialTrio& trial) {
  std::string text = Words(Name(trial.undo));
  for (const OpenUndo& open : trial.open_undos) {
    absl::StrAppend(&text, "; shot ", open.shot, ": ", open.problem,
                    open.by_hand.empty() ? "" : "; by hand: ", open.by_hand);
  }
  return text;
}

void AddTargets(const TrialTrio& trial, std::vector<Row>& rows) {
  for (const FaultedTarget& target : trial.targets) {
    rows.push_back({"fault", absl::StrCat(target.kind, " on ", target.slot.empty() ? target.node : target.slot, " (",
                                          Name(target.level), " level), landed: ", target.evidence, "; onset known to ",
                                          WidthText(target.landed.Width()))});
  }
}

void AddReports(const TrialTrio& trial, std::vector<Row>& rows) {
  if (!trial.misattributed.empty()) {
    rows.push_back(
        {"misattributed", absl::StrCat(CountText(static_cast<int64_t>(trial.misattributed.size()), "report", "reports"),
                                       ", first ", ReportText(trial.misattributed.front()))});
  }
  if (!trial.uncredited.empty()) {
    rows.push_back({"too late to count", ReportText(trial.uncredited.front())});
  }
  if (trial.first_symptom) {
    rows.push_back({"first symptom", absl::StrCat(ReportText(*trial.first_symptom), ", ",
                                                  CountText(trial.symptoms, "symptom", "symptoms"), " in all")});
  }
}

std::string FigureText(const Summary& summary) {
  if (summary.n == 0) return "no valid trial";
  std::string text = absl::StrCat(CountText(summary.n, "trial", "trials"), ", ", summary.censored, " censored");
  if (summary.p50) absl::StrAppend(&text, "; median ", SpanText(*summary.p50));
  if (summary.p90) absl::StrAppend(&text, "; p90 ", SpanText(*summary.p90));
  if (summary.min && summary.max) absl::StrAppend(&text, "; seen ", SpanText({*summary.min, *summary.max}));
  if (summary.median_between) {
    absl::StrAppend(&text, "; the median lies in ", SpanText(*summary.median_between), " with ",
                    PercentText(summary.median_confidence), " confidence");
  }
  return text;
}

}  // namespace

std::string TrialTitle(const TrialTrio& trial) {
  return absl::StrCat("Trial ", trial.trial, trial.sham ? ", sham" : "", trial.valid ? "" : ", not valid");
}

std::vector<Row> TrialRows(const TrialTrio& trial) {
  std::vector<Row> rows;
  for (const std::string& problem : trial.problems) rows.push_back({"not valid", problem});
  AddTargets(trial, rows);
  if (trial.sham) {
    rows.push_back({"false alarms", absl::StrCat(trial.false_alarms.size())});
    for (const PipelineReport& alarm : trial.false_alarms) rows.push_back({"false alarm", ReportText(alarm)});
  } else if (trial.detection) {
    rows.push_back({"detection latency", DetectionText(trial)});
    AddReports(trial, rows);
    rows.push_back({"isolation", IsolationText(trial)});
    rows.push_back({"interruption", InterruptionText(trial)});
    rows.push_back({"restarted processes", RestartsText(trial)});
    rows.push_back({"recovery time", RecoveryText(trial)});
    rows.push_back({"milestones", MilestonesText(trial.milestones)});
    rows.push_back({"steps lost", StepsText(trial)});
    rows.push_back({"capacity left", CapacityText(trial)});
    rows.push_back({"state check", StateText(trial.state)});
    if (trial.masked) rows.push_back({"masked", "the change left no trace in the job's state: it is not counted"});
    rows.push_back({"coverage", CoverageText(trial)});
  }
  rows.push_back({"undo", UndoText(trial)});
  return rows;
}

std::vector<Row> SummaryRows(const Trio& trio) {
  std::vector<Row> rows;
  if (trio.planned_faulted > 0) {
    rows.push_back({"detection latency", FigureText(trio.detection_latency)});
    rows.push_back({"recovery time", FigureText(trio.recovery_time)});
  }
  if (const auto masked =
          std::count_if(trio.trials.begin(), trio.trials.end(), [](const auto& one) { return one.masked; });
      masked > 0) {
    rows.push_back(
        {"masked", absl::StrCat(CountText(masked, "trial", "trials"), ": the change left no trace; not counted")});
  }
  rows.push_back({"false alarms", absl::StrCat(trio.false_alarms, " in ",
                                               CountText(trio.sham_trials, "valid sham trial", "valid sham trials"))});
  return rows;
}

std::string AssuranceText(const Objective& objective) {
  std::string text = absl::StrCat(objective.passed, " of ", objective.n);
  if (objective.assurance) absl::StrAppend(&text, absl::StrFormat(": P(pass) >= %.3f at 95%%", *objective.assurance));
  return text;
}

}  // namespace triodrill
