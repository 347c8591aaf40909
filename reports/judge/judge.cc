#include "reports/judge/judge.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/judge/bounds.h"
#include "reports/judge/monitoring.h"
#include "reports/render/number.h"
#include "reports/stats/stats.h"

namespace triodrill {
namespace {

Answer Worse(Answer a, Answer b) { return std::max(a, b); }

// A change of a tensor that left no trace is no fault that anybody could have seen: it is reported apart.
bool Counts(const TrialTrio& trial) { return trial.valid && !trial.sham && !trial.masked; }

// What the trials with this answer said: once if they all said the same, else the first few.
std::string ReasonOf(const Objective& objective) {
  constexpr size_t kShown = 3;
  std::vector<std::string> said;
  bool same = true;
  for (const TrialAnswer& trial : objective.trials) {
    if (trial.answer != objective.answer) continue;
    same = same && trial.reason == objective.trials.front().reason;
    said.push_back(absl::StrCat("trial ", trial.trial, ": ", trial.reason));
  }
  if (same && said.size() > 1 && said.size() == objective.trials.size()) {
    return absl::StrCat("every trial: ", objective.trials.front().reason);
  }
  const size_t more = said.size() - std::min(said.size(), kShown);
  said.resize(said.size() - more);
  return absl::StrCat(absl::StrJoin(said, "; "), more == 0 ? "" : absl::StrCat("; and ", more, " more"));
}

// Every valid faulted trial is asked; the worst answer counts.
Objective Ask(const Trio& trio, std::string name, std::string expected,
              const std::function<Judged(const TrialTrio&)>& judge) {
  Objective objective;
  objective.name = std::move(name);
  objective.expected = std::move(expected);
  objective.answer = Answer::kPass;
  for (const TrialTrio& trial : trio.trials) {
    if (!Counts(trial)) continue;
    Judged judged = judge(trial);
    ++objective.n;
    if (judged.answer == Answer::kPass) ++objective.passed;
    objective.answer = Worse(objective.answer, judged.answer);
    objective.trials.push_back({trial.trial, judged.answer, std::move(judged.reason)});
  }
  if (objective.n == 0) {
    objective.answer = Answer::kInconclusive;
    const bool masked = std::any_of(trio.trials.begin(), trio.trials.end(), [](const auto& one) { return one.masked; });
    objective.reason = masked ? "every change was masked: none left a trace" : "no valid trial with the fault";
    return objective;
  }
  objective.reason = ReasonOf(objective);
  if (objective.passed == objective.n) objective.assurance = Assurance(objective.n);
  return objective;
}

Judged JudgeOptional(const std::optional<Delay>& delay, Nanos bound) {
  if (!delay) return {Answer::kInconclusive, "not measured"};
  return JudgeDelay(*delay, bound);
}

Judged JudgeEvicted(const TrialTrio& trial, v1::Domain at_most) {
  if (!trial.isolation || trial.isolation->basis == Basis::kUnknown) {
    return {Answer::kInconclusive, "the job never became steady again and the pipeline named nobody it isolated"};
  }
  return JudgeLevel(trial.isolation->level, at_most);
}

Judged JudgePrecision(const TrialTrio& trial, const v1::IsolationBound& bound) {
  if (trial.isolation && trial.isolation->precision) return JudgeShare(*trial.isolation->precision, bound.precision());
  if (!trial.isolation || trial.isolation->basis == Basis::kUnknown) {
    return {Answer::kInconclusive, "nobody knows what was evicted"};
  }
  // Nobody innocent was hit: true, but empty where somebody should have been.
  return {bound.recall().empty() ? Answer::kPass : Answer::kInconclusive, "nothing was evicted"};
}

Judged JudgeRecall(const TrialTrio& trial, const v1::IsolationBound& bound) {
  if (!trial.isolation || !trial.isolation->recall) {
    return {Answer::kInconclusive, "nobody knows what was evicted"};
  }
  Judged judged = JudgeShare(*trial.isolation->recall, bound.recall());
  if (trial.isolation->evicted.empty()) absl::StrAppend(&judged.reason, ": nothing was evicted");
  return judged;
}

Judged JudgeStepsLost(const TrialTrio& trial, int64_t max) {
  if (!trial.steps_lost) return {Answer::kInconclusive, "the job never went on"};
  return JudgeCount(*trial.steps_lost, max, "step", "steps");
}

Judged JudgeState(const TrialTrio& trial) {
  const StateCheck& state = trial.state;
  switch (state.answer) {
    case StateAnswer::kEqual:
      return {Answer::kPass, absl::StrCat("equal in ", CountText(state.compared, "state", "states"))};
    case StateAnswer::kDifferent:
      return {Answer::kFail, absl::StrCat("differs from a run without a fault at ", state.first_different)};
    case StateAnswer::kNotSeen:
      return {Answer::kInconclusive, "no state was told after the recovery"};
    case StateAnswer::kNoReference:
      return {Answer::kInconclusive, "no run without a fault to compare with"};
    case StateAnswer::kNotApplicable:
      break;
  }
  return {Answer::kInconclusive, "the pipeline's profile has no signal that means state"};
}

Judged JudgeCoverage(const TrialTrio& trial, const std::string& step) {
  const auto found = trial.coverage.find(step);
  if (found == trial.coverage.end()) return {Answer::kInconclusive, "not measured"};
  switch (found->second.coverage) {
    case Coverage::kSeen:
      return {Answer::kPass, absl::StrCat("seen: ", found->second.evidence)};
    case Coverage::kNotApplicable:
      return {Answer::kFail, "the pipeline has no such step"};
    case Coverage::kNotSeen:
      break;
  }
  return {Answer::kFail, "not seen"};
}

Objective JudgeFalseAlarms(const Trio& trio, int64_t max) {
  Objective objective;
  objective.name = "false_alarms";
  objective.expected = absl::StrCat("at most ", max);
  for (const TrialTrio& trial : trio.trials) {
    if (!trial.sham || !trial.valid) continue;
    ++objective.n;
    const int64_t alarms = static_cast<int64_t>(trial.false_alarms.size());
    if (alarms == 0) ++objective.passed;
    objective.trials.push_back(
        {trial.trial, alarms == 0 ? Answer::kPass : Answer::kFail, CountText(alarms, "alarm", "alarms")});
  }
  if (objective.n == 0) {
    objective.reason = "no valid sham trial";
    return objective;
  }
  const Judged judged = JudgeCount(trio.false_alarms, max, "alarm", "alarms");
  objective.answer = judged.answer;
  objective.reason = absl::StrCat(judged.reason, " in ", CountText(objective.n, "sham trial", "sham trials"));
  // Alarms that are allowed (max > 0) are within the bound: the trials that had them keep it too.
  if (judged.answer == Answer::kPass) {
    objective.passed = objective.n;
    for (TrialAnswer& trial : objective.trials) trial.answer = Answer::kPass;
    objective.assurance = Assurance(objective.n);
  }
  return objective;
}

// What was planned and is not there, or is not valid, was not passed.
Objective JudgeTrials(const Trio& trio) {
  Objective objective;
  objective.name = "trials";
  objective.expected = "every planned trial valid";
  objective.n = trio.planned_faulted + trio.planned_sham;
  for (const TrialTrio& trial : trio.trials) {
    if (trial.valid) ++objective.passed;
    const std::string why = trial.valid ? "valid" : absl::StrJoin(trial.problems, "; ");
    objective.trials.push_back({trial.trial, trial.valid ? Answer::kPass : Answer::kInconclusive, why});
    if (!trial.valid && objective.reason.empty()) objective.reason = absl::StrCat("trial ", trial.trial, ": ", why);
  }
  const bool all = objective.n > 0 && objective.passed >= objective.n;
  objective.answer = all ? Answer::kPass : Answer::kInconclusive;
  if (objective.reason.empty()) objective.reason = absl::StrCat(objective.passed, " of ", objective.n, " valid");
  return objective;
}

void AskIsolation(const v1::IsolationBound& bound, const Trio& trio, std::vector<Objective>& objectives) {
  if (bound.at_most() != v1::DOMAIN_UNSPECIFIED) {
    objectives.push_back(Ask(trio, "isolation.at_most", absl::StrCat("at most ", Name(bound.at_most())),
                             [&](const TrialTrio& trial) { return JudgeEvicted(trial, bound.at_most()); }));
  }
  if (!bound.precision().empty()) {
    objectives.push_back(Ask(trio, "isolation.precision", bound.precision(),
                             [&](const TrialTrio& trial) { return JudgePrecision(trial, bound); }));
  }
  if (!bound.recall().empty()) {
    objectives.push_back(Ask(trio, "isolation.recall", bound.recall(),
                             [&](const TrialTrio& trial) { return JudgeRecall(trial, bound); }));
  }
}

std::vector<Objective> AskAll(const v1::Expect& expect, const Trio& trio) {
  std::vector<Objective> objectives;
  if (expect.has_detection_latency()) {
    const Nanos bound = ToNanos(expect.detection_latency().max());
    objectives.push_back(Ask(trio, "detection_latency", absl::StrCat("at most ", BoundText(bound)),
                             [&](const TrialTrio& trial) { return JudgeOptional(trial.detection, bound); }));
  }
  if (expect.has_isolation()) AskIsolation(expect.isolation(), trio, objectives);
  if (expect.has_interruption()) {
    const v1::Domain bound = expect.interruption().at_most();
    objectives.push_back(
        Ask(trio, "interruption.at_most", absl::StrCat("at most ", Name(bound)), [&](const TrialTrio& trial) {
          return trial.interruption ? JudgeLevel(trial.interruption->level, bound)
                                    : Judged{Answer::kInconclusive, "not measured"};
        }));
  }
  if (expect.has_restarts()) {
    const v1::Domain bound = expect.restarts().at_most();
    objectives.push_back(
        Ask(trio, "restarts.at_most", absl::StrCat("at most ", Name(bound)), [&](const TrialTrio& trial) {
          return trial.interruption ? JudgeLevel(trial.interruption->restart_level, bound)
                                    : Judged{Answer::kInconclusive, "not measured"};
        }));
  }
  if (expect.has_recovery_time()) {
    const Nanos bound = ToNanos(expect.recovery_time().max());
    objectives.push_back(Ask(trio, "recovery_time", absl::StrCat("at most ", BoundText(bound)),
                             [&](const TrialTrio& trial) { return JudgeOptional(trial.recovery, bound); }));
  }
  if (expect.has_steps_lost()) {
    const int64_t max = expect.steps_lost().max();
    objectives.push_back(Ask(trio, "steps_lost", absl::StrCat("at most ", max),
                             [&](const TrialTrio& trial) { return JudgeStepsLost(trial, max); }));
  }
  if (!expect.state_check().empty()) {
    objectives.push_back(Ask(trio, "state_check", expect.state_check(), JudgeState));
  }
  if (expect.has_reports()) {
    const int64_t max = expect.reports().max();
    objectives.push_back(Ask(trio, "reports", absl::StrCat("at most ", max), [&](const TrialTrio& trial) {
      return JudgeCount(trial.reports, max, "report", "reports");
    }));
  }
  for (const std::string& step : expect.coverage()) {
    objectives.push_back(Ask(trio, absl::StrCat("coverage.", step), "seen",
                             [&](const TrialTrio& trial) { return JudgeCoverage(trial, step); }));
  }
  if (expect.has_false_alarms()) objectives.push_back(JudgeFalseAlarms(trio, expect.false_alarms().max()));
  return objectives;
}

RunOutcome OutcomeOf(const std::string& outcome) {
  if (outcome == "finished") return RunOutcome::kFinished;
  if (outcome == "aborted") return RunOutcome::kAborted;
  if (outcome == "refused") return RunOutcome::kRefused;
  if (outcome == "incomplete") return RunOutcome::kIncomplete;
  return RunOutcome::kBroken;
}

std::string UndoBlocker(const OpenUndo& open) {
  return absl::StrCat("undo of shot ", open.shot, " is not confirmed", open.node.empty() ? "" : " on ", open.node, ": ",
                      open.problem, open.by_hand.empty() ? "" : "; by hand: ", open.by_hand);
}

std::vector<OpenUndo> OpenUndos(const Trio& trio) {
  std::vector<OpenUndo> open = trio.stray_undos;
  for (const TrialTrio& trial : trio.trials) open.insert(open.end(), trial.open_undos.begin(), trial.open_undos.end());
  return open;
}

ExitCode ExitCodeOf(const Verdict& verdict) {
  if (!verdict.undo_confirmed) return ExitCode::kUndoNotConfirmed;
  if (verdict.outcome == RunOutcome::kAborted) return ExitCode::kAborted;
  if (verdict.outcome == RunOutcome::kRefused) return ExitCode::kRefused;
  if (verdict.answer == Answer::kFail) return ExitCode::kFailed;
  return verdict.answer == Answer::kPass ? ExitCode::kPassed : ExitCode::kInconclusive;
}

std::string RunBlocker(const Verdict& verdict, const RunFacts& run) {
  const std::string problem = run.problem.empty() ? "" : absl::StrCat(": ", run.problem);
  switch (verdict.outcome) {
    case RunOutcome::kFinished:
      return "";
    case RunOutcome::kAborted:
      return absl::StrCat("the run was aborted", problem);
    case RunOutcome::kRefused:
      return absl::StrCat("the safety gate refused", run.refusals.empty() ? problem : ": ",
                          absl::StrJoin(run.refusals, " | "));
    case RunOutcome::kBroken:
      return absl::StrCat("the run broke off", problem);
    case RunOutcome::kIncomplete:
      return absl::StrCat("the timeline is incomplete", problem);
  }
  return "";
}

// "detection_latency, isolation.recall": those that got this answer.
std::string NamesOf(const Verdict& verdict, Answer answer) {
  std::vector<std::string> names;
  for (const Objective& objective : verdict.objectives) {
    if (objective.answer == answer) names.push_back(objective.name);
  }
  return absl::StrJoin(names, ", ");
}

std::string HeadlineOf(const Verdict& verdict, const RunFacts& run, const Trio& trio) {
  const std::string& drill = verdict.drill;
  if (!verdict.undo_confirmed) return absl::StrCat("FAIL ", drill, ": UNDO NOT CONFIRMED: ", verdict.blockers.front());
  const std::string blocker = RunBlocker(verdict, run);
  if (verdict.outcome == RunOutcome::kRefused) return absl::StrCat("REFUSED ", drill, ": ", blocker);
  if (verdict.outcome == RunOutcome::kAborted) {
    return absl::StrCat("ABORTED ", drill, ": ", blocker, "; everything was undone");
  }
  const auto asked = static_cast<int64_t>(verdict.objectives.size());
  const auto passed = std::count_if(verdict.objectives.begin(), verdict.objectives.end(),
                                    [](const Objective& objective) { return objective.answer == Answer::kPass; });
  const std::string tally = absl::StrCat(passed, " of ", CountText(asked, "objective", "objectives"), " passed");
  if (verdict.answer == Answer::kPass) {
    return absl::StrCat("PASS ", drill, ": ", tally, " in ", CountText(trio.planned_faulted, "trial", "trials"),
                        " and ", CountText(trio.planned_sham, "sham trial", "sham trials"));
  }
  const std::string named = NamesOf(verdict, verdict.answer);
  std::vector<std::string> parts;
  for (const std::string& part : {blocker, named, tally}) {
    if (!part.empty()) parts.push_back(part);
  }
  return absl::StrCat(Name(verdict.answer), " ", drill, ": ", absl::StrJoin(parts, "; "));
}

}  // namespace

Verdict Judge(const v1::Plan& plan, const Trio& trio) {
  Verdict verdict;
  verdict.drill = trio.drill;
  verdict.outcome = OutcomeOf(trio.run.outcome);
  verdict.objectives = AskAll(plan.drill().spec().expect(), trio);
  verdict.answer = verdict.objectives.empty() ? Answer::kInconclusive : Answer::kPass;
  verdict.objectives.push_back(JudgeTrials(trio));
  if (trio.run.monitoring) {
    for (Objective& objective : JudgeMonitoring(*trio.run.monitoring))
      verdict.objectives.push_back(std::move(objective));
  }
  for (const Objective& objective : verdict.objectives) verdict.answer = Worse(verdict.answer, objective.answer);
  if (verdict.outcome != RunOutcome::kFinished) verdict.answer = Worse(verdict.answer, Answer::kInconclusive);

  const std::vector<OpenUndo> open = OpenUndos(trio);
  verdict.undo_confirmed = open.empty();
  if (!open.empty()) verdict.answer = Answer::kFail;
  for (const OpenUndo& undo : open) verdict.blockers.push_back(UndoBlocker(undo));
  if (std::string blocker = RunBlocker(verdict, trio.run); !blocker.empty()) verdict.blockers.push_back(blocker);
  for (const Answer weight : {Answer::kFail, Answer::kInconclusive}) {
    for (const Objective& objective : verdict.objectives) {
      if (objective.answer != weight) continue;
      verdict.blockers.push_back(
          absl::StrCat(Name(weight), " ", objective.name, " (expected: ", objective.expected, "): ", objective.reason));
    }
  }
  verdict.exit_code = ExitCodeOf(verdict);
  verdict.headline = HeadlineOf(verdict, trio.run, trio);
  return verdict;
}

std::string Name(Answer answer) {
  switch (answer) {
    case Answer::kPass:
      return "PASS";
    case Answer::kInconclusive:
      return "INCONCLUSIVE";
    case Answer::kFail:
      return "FAIL";
  }
  return "";
}

std::string Name(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kFinished:
      return "finished";
    case RunOutcome::kAborted:
      return "aborted";
    case RunOutcome::kRefused:
      return "refused";
    case RunOutcome::kBroken:
      return "broken";
    case RunOutcome::kIncomplete:
      return "incomplete";
  }
  return "";
}

}  // namespace triodrill
