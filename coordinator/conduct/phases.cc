// Trials and their phases: settle, gate, run, cool down.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/conduct/stepper.h"
#include "coordinator/plan/plan.h"

namespace triodrill::conduct {

v1::Instant ToFactInstant(const Instant& at, TimePoint epoch) {
  v1::Instant instant;
  instant.set_earliest_ns((at.earliest - epoch).count());
  instant.set_latest_ns((at.latest - epoch).count());
  return instant;
}

bool Names(const std::string& named, const std::string& node, const std::string& slot) {
  if (named.empty()) return false;
  return named == node || named == slot || (slot.empty() && named.starts_with(absl::StrCat(node, "/")));
}

v1::Fact Stepper::NewFact(const Instant& at) const {
  v1::Fact fact;
  *fact.mutable_at() = ToFactInstant(at, s_.settings.epoch);
  fact.set_trial(s_.trial_open ? Trial().number() : 0);
  return fact;
}

void Stepper::On(StepDone&& done) {
  s_.progress.Add(done.slot, done.step, now_);
  if (s_.phase == Phase::kRunning && s_.onset && s_.baseline && !s_.recovered) {
    s_.recovered = s_.progress.Recovered(s_.undisturbed_since, s_.high_water_at_onset,
                                         s_.steadiness.theta * s_.baseline->steps_per_s);
    if (s_.recovered && !Trial().sham()) Say("recovered: past the high-water step at the baseline's rate");
  }
}

void Stepper::On(Reported&& report) {
  if (report.means == v1::DETECTED || report.means == v1::DIAGNOSED || report.means == v1::ISOLATED) {
    s_.last_report = now_;
  }
  if (s_.phase != Phase::kRunning || !s_.onset) return;
  for (ShotState& shot : s_.shots) {
    const bool ours = Names(report.named, shot.shot.node(), shot.shot.slot());
    if (report.means == v1::ISOLATED && ours) shot.isolated = true;
    if (report.means == v1::DETECTED && (ours || report.named.empty()) && !s_.detected) {
      s_.detected = true;
      Say(absl::StrCat("detected", report.named.empty() ? "" : absl::StrCat(": ", report.named)));
    }
  }
}

void Stepper::On(AbortAsked&& asked) {
  if (s_.aborting) return;
  s_.aborting = true;
  s_.abort_reason = asked.by;
  Say(absl::StrCat("abort asked (", asked.by, "): everything is being undone"));
  Invalidate("aborted");
}

void Stepper::On(Trouble&& trouble) {
  if (!s_.broken.empty()) return;
  s_.broken = trouble.problem;
  Say(absl::StrCat("trouble: ", trouble.problem));
  Invalidate(trouble.problem);
}

void Stepper::Advance() {
  switch (s_.phase) {
    case Phase::kSettling:
      return Settle();
    case Phase::kGate:
      return WaitForGate();
    case Phase::kRunning:
      return Run();
    case Phase::kCooldown:
      return CoolDown();
    case Phase::kDone:
      return;
  }
}

void Stepper::OpenTrial() {
  s_.trial_open = true;
  v1::Fact fact = NewFact();
  fact.mutable_trial_started()->set_sham(Trial().sham());
  Write(std::move(fact));
  Say(absl::StrFormat("trial %d of %d%s: waiting for a steady baseline", Trial().number(), s_.plan->trials_size(),
                      Trial().sham() ? " (sham)" : ""));
}

void Stepper::Settle() {
  if (s_.aborting || !s_.broken.empty()) return CloseTrial();
  if (!s_.trial_open) OpenTrial();
  const Nanos quiet = ToNanos(s_.plan->pipeline().spec().at_rest().quiet());
  const bool at_rest = !s_.last_report || now_ - *s_.last_report >= quiet;
  s_.baseline = s_.progress.Steady(s_.steadiness, plan::ServingSlots(s_.plan->partition().spec()).size());
  if (s_.baseline && at_rest) {
    s_.phase = Phase::kGate;
    s_.since = now_;
    out_.push_back(AskGate{Trial().number()});
    return;
  }
  const Nanos deadline = ToNanos(s_.plan->pipeline().spec().baseline().deadline());
  if (now_ - s_.since < deadline) return;
  if (!s_.restarted_workload) {  // once: a job that the last trial ruined starts afresh
    s_.restarted_workload = true;
    s_.since = now_;
    s_.progress.Clear();
    out_.push_back(RestartWorkload{"no steady baseline"});
    Say("no steady baseline: the job is started afresh");
    return;
  }
  s_.invalid = at_rest ? "the baseline never became steady" : "the pipeline's detectors never came to rest";
  CloseTrial();
}

void Stepper::WaitForGate() {
  if (s_.aborting || !s_.broken.empty()) return CloseTrial();
  if (now_ - s_.since > s_.settings.gate_within) {
    s_.invalid = "the gate's questions were not answered in time";
    CloseTrial();
  }
}

void Stepper::On(GateSaid&& said) {
  if (s_.phase != Phase::kGate) return;
  v1::Fact fact = NewFact();
  fact.mutable_gate()->set_permitted(said.decision.permit.has_value());
  for (const v1::Check& check : said.decision.checks) *fact.mutable_gate()->add_checks() = check;
  Write(std::move(fact));
  if (!said.decision.permit) {
    std::vector<std::string> denied;
    for (const v1::Check& check : said.decision.checks) {
      if (!check.passed()) denied.push_back(absl::StrCat(check.name(), ": ", check.saw(), "; hint: ", check.hint()));
    }
    s_.invalid = absl::StrCat("refused by the safety gate: ", absl::StrJoin(denied, " | "));
    if (s_.trial == 0) return End("refused", s_.invalid);
    s_.broken = s_.invalid;
    return CloseTrial();
  }
  v1::Fact steady = NewFact();
  v1::BaselineSteady* baseline = steady.mutable_baseline();
  baseline->set_steps_per_s(s_.baseline->steps_per_s);
  baseline->set_high_water_step(s_.baseline->high_water);
  baseline->set_steps(s_.baseline->steps);
  baseline->set_window_ns(s_.baseline->window.count());
  for (const std::string& slot : s_.baseline->serving) baseline->add_serving(slot);
  Write(std::move(steady));
  Say(absl::StrFormat("steady at %.2f steps/s", s_.baseline->steps_per_s));
  s_.phase = Phase::kRunning;
  s_.since = now_;
  s_.settled_at = TimePoint{};
  out_.push_back(WatchFinely{true});
  TakeShots(std::move(*said.decision.permit).Spend());
}

bool Stepper::Awaiting() const {
  if (!AllOver()) return true;
  if (!s_.invalid.empty()) return false;
  if (!s_.onset) return false;
  const Nanos since_onset = now_ - s_.onset->latest;
  const Nanos detection = ToNanos(Spec().deadline().detection());
  if (Trial().sham()) {  // as long as a report would still have counted
    const v1::Expect& expect = Spec().expect();
    const Nanos window = expect.has_detection_latency() ? ToNanos(expect.detection_latency().max()) : detection;
    return since_onset < window;
  }
  if (!s_.detected && since_onset < detection) return true;
  return !s_.recovered && since_onset < ToNanos(Spec().deadline().recovery());
}

void Stepper::Run() {
  for (FaultState& fault : s_.faults) AdvanceFault(fault);
  for (ShotState& shot : s_.shots) AdvanceShot(shot);
  if (Awaiting()) {
    s_.settled_at = TimePoint{};
    return;
  }
  if (s_.settled_at == TimePoint{}) s_.settled_at = now_;
  const bool hurry = s_.aborting || !s_.broken.empty();
  if (hurry || now_ - s_.settled_at >= s_.settings.tail) CloseTrial();
}

void Stepper::CloseTrial() {
  out_.push_back(WatchFinely{false});
  if (s_.trial_open) {
    v1::Fact fact = NewFact();
    fact.mutable_trial_ended()->set_valid(s_.invalid.empty());
    fact.mutable_trial_ended()->set_problem(s_.invalid);
    Write(std::move(fact));
    Say(s_.invalid.empty() ? "trial done" : absl::StrCat("trial invalid: ", s_.invalid));
  }
  s_.trial_open = false;
  if (!AllConfirmed(s_)) return End("broken", "an undo is not confirmed");
  if (s_.aborting) return End("aborted", s_.abort_reason);
  if (!s_.broken.empty()) return End("broken", s_.broken);
  s_.invalid_in_a_row = s_.invalid.empty() ? 0 : s_.invalid_in_a_row + 1;
  if (s_.invalid_in_a_row >= s_.settings.invalid_in_a_row &&
      s_.trial + 1 < static_cast<size_t>(s_.plan->trials_size())) {
    return End("broken", absl::StrCat(s_.invalid_in_a_row, " invalid trials in a row, the last: ", s_.invalid));
  }
  s_.phase = Phase::kCooldown;
  s_.since = now_;
}

void Stepper::CoolDown() {
  if (s_.aborting) return End("aborted", s_.abort_reason);
  if (!s_.broken.empty()) return End("broken", s_.broken);
  const bool last = s_.trial + 1 >= static_cast<size_t>(s_.plan->trials_size());
  if (!last && now_ - s_.since < ToNanos(Spec().trials().cooldown())) return;
  if (last) return End("finished", "");
  NextTrial();
}

// Whether the job ran undisturbed to the end of the trial, so that its newest steps are a baseline: a sham of which
// nothing was reported, or a fault from which it recovered. The window is the same length as ever; it may only begin
// before the next trial does.
bool Stepper::EndedSteady() const {
  if (!s_.invalid.empty() || !s_.onset) return false;
  if (!Trial().sham()) return s_.recovered;
  return !s_.last_report || *s_.last_report < s_.onset->earliest;
}

void Stepper::NextTrial() {
  if (!EndedSteady()) s_.progress.Clear();
  ++s_.trial;
  s_.phase = Phase::kSettling;
  s_.since = now_;
  s_.restarted_workload = false;
  s_.baseline.reset();
  s_.faults.clear();
  s_.shots.clear();
  s_.onset.reset();
  s_.undisturbed_since = TimePoint{};
  s_.high_water_at_onset = -1;
  s_.detected = s_.recovered = false;
  s_.invalid.clear();
  OpenTrial();
}

void Stepper::End(const std::string& outcome, const std::string& problem) {
  s_.trial_open = false;
  v1::Fact fact = NewFact();
  fact.mutable_run_ended()->set_outcome(outcome);
  fact.mutable_run_ended()->set_problem(problem);
  Write(std::move(fact));
  s_.phase = Phase::kDone;
  out_.push_back(Finish{outcome, problem});
}

void Stepper::Invalidate(const std::string& why) {
  if (s_.invalid.empty()) s_.invalid = why;
  if (s_.phase == Phase::kRunning) RevertAll();
}

}  // namespace triodrill::conduct
