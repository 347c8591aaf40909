#include "tests/unit/reports/story.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "reports/evidence/bundle.h"
#include "reports/judge/judge.h"
#include "reports/measure/measure.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/slot.h"

namespace triodrill {
namespace {

constexpr double kBaseline = 6;  // seconds of steps before t0
constexpr double kLead = 8;      // from the start of a trial to t0

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string NodeOf(const std::string& slot) { return ParseSlot(slot)->node; }

}  // namespace

google::protobuf::Duration Lasting(double seconds) { return ToProto(Nanos(Nanoseconds(seconds))); }

Story::Story(double steps_per_s) : rate_(steps_per_s) {
  plan.set_tool_version("0.1.0");
  plan.mutable_drill()->mutable_metadata()->set_name("told");
  auto& spec = *plan.mutable_drill()->mutable_spec();
  *spec.mutable_deadline()->mutable_detection() = Lasting(60);
  *spec.mutable_deadline()->mutable_recovery() = Lasting(300);
  plan.mutable_partition()->mutable_metadata()->set_name("sandbox");
  plan.mutable_pipeline()->mutable_metadata()->set_name("torchrun");
  plan.mutable_pipeline()->mutable_spec()->mutable_baseline()->set_theta(0.95);
  Nodes(3, 1);
}

Story& Story::Nodes(int nodes, int slots_each) {
  auto& partition = *plan.mutable_partition()->mutable_spec();
  partition.clear_nodes();
  serving_.clear();
  for (int n = 0; n < nodes; ++n) {
    v1::Node& node = *partition.add_nodes();
    node.set_name(absl::StrCat("n", n));
    node.set_slots(slots_each);
    for (int i = 0; i < slots_each; ++i) serving_.push_back(Slot{node.name(), i}.Name());
  }
  return *this;
}

Story& Story::Spare(const std::string& slot) {
  std::erase(serving_, slot);
  plan.mutable_partition()->mutable_spec()->add_spares(NodeOf(slot));
  return *this;
}

Story& Story::Say(v1::Fact fact, double at, double width) {
  fact.set_trial(trial_);
  const int64_t middle = Nanoseconds(onset_ + at);
  const int64_t half = Nanoseconds(width) / 2;
  fact.mutable_at()->set_earliest_ns(middle - half);
  fact.mutable_at()->set_latest_ns(middle + half);
  latest_ = std::max(latest_, onset_ + at);
  if (!sink_.Append(std::move(fact)).ok()) std::abort();
  return *this;
}

void Story::Begin(bool sham) {
  if (trial_ == 0) {
    v1::Fact fact;
    v1::RunStarted& run = *fact.mutable_run_started();
    run.set_run_id("run-1");
    run.set_tool_version("0.1.0");
    run.set_wall_text("2026-11-29T12:00:00Z");
    run.set_operator_name("operator");
    run.set_host("host");
    run.set_kernel("6.1");
    Say(std::move(fact), 0, 0);
    for (const v1::Node& node : plan.partition().spec().nodes()) {
      v1::Fact clock;
      clock.mutable_clock()->set_node(node.name());
      clock.mutable_clock()->set_offset_earliest_ns(-20'000);
      clock.mutable_clock()->set_offset_latest_ns(21'000);
      clock.mutable_clock()->set_min_round_trip_ns(41'000);
      Say(std::move(clock), 0.1, 0);
    }
  }
  onset_ = latest_ + kLead;
  v1::PlannedTrial& planned = *plan.add_trials();
  planned.set_number(++trial_);
  planned.set_sham(sham);
  v1::Fact started;
  started.mutable_trial_started()->set_sham(sham);
  Say(std::move(started), -kLead, 0);
  for (const std::string& slot : serving_) Appeared(-kBaseline - 1, slot);
  const double period = 1 / rate_;
  const auto steps = static_cast<int64_t>(kBaseline * rate_);
  Run(-static_cast<double>(steps) * period, -period / 4, kHighWater - steps + 1);
  v1::Fact fact;
  v1::BaselineSteady& baseline = *fact.mutable_baseline();
  baseline.set_steps_per_s(rate_);
  baseline.set_high_water_step(kHighWater - static_cast<int64_t>(rate_));
  for (const std::string& slot : serving_) baseline.add_serving(slot);
  Say(std::move(fact), -1, 0);
}

Story& Story::Trial() {
  Begin(false);
  return *this;
}

Story& Story::Sham() {
  Begin(true);
  v1::Shot& shot = *Planned().add_shots();
  shot.set_fault_id("fault");
  shot.set_kind("process.kill");
  v1::Fact fact;
  fact.mutable_landed()->set_shot(absl::StrCat(trial_, ".fault.0"));
  fact.mutable_landed()->set_node("n2");
  fact.mutable_landed()->set_sham(true);
  return Say(std::move(fact), 0);
}

v1::Shot& Story::PlanShot(const std::string& kind, const std::string& node, const std::string& hold, double seconds) {
  v1::Shot& shot = *Planned().add_shots();
  shot.set_index(Planned().shots_size() - 1);
  shot.set_fault_id("fault");
  shot.set_kind(kind);
  shot.set_node(node);
  SelectParameters(kind, *shot.mutable_with());
  if (hold == "until") {
    shot.mutable_hold()->set_until("isolated");
    *shot.mutable_hold()->mutable_max() = Lasting(seconds);
  } else if (hold == "for") {
    *shot.mutable_hold()->mutable_for_() = Lasting(seconds);
  }
  shot_ = absl::StrCat(trial_, ".fault.", shot.index());
  node_ = node;
  v1::Fact prepared;
  prepared.mutable_prepared()->set_shot(shot_);
  prepared.mutable_prepared()->set_node(node);
  prepared.mutable_prepared()->set_kind(kind);
  prepared.mutable_prepared()->set_by_hand("undo it by hand");
  Say(std::move(prepared), -0.5);
  v1::Fact armed;
  armed.mutable_armed()->set_shot(shot_);
  Say(std::move(armed), -0.4);
  return shot;
}

void Story::Land(const std::string& kind, const std::string& node, const std::string& slot) {
  v1::Fact fact;
  fact.mutable_landed()->set_shot(shot_);
  fact.mutable_landed()->set_node(node);
  fact.mutable_landed()->set_slot(slot);
  fact.mutable_landed()->set_evidence(absl::StrCat("seen: ", kind));
  Say(std::move(fact), 0);
}

Story& Story::Kill(const std::string& slot) {
  PlanShot("process.kill", NodeOf(slot), "", 0);
  Land("pidfd readable", NodeOf(slot), slot);
  return Ended(0, slot);
}

Story& Story::Broken(const std::string& kind, const std::string& slot) {
  PlanShot(kind, NodeOf(slot), "", 0);
  Land("seen: changed", NodeOf(slot), slot);
  return *this;
}

Story& Story::Pause(const std::string& slot, const std::string& hold, double seconds) {
  PlanShot("process.pause", NodeOf(slot), hold, seconds);
  Land("every thread in state T", NodeOf(slot), slot);
  return *this;
}

Story& Story::Throttle(const std::string& slot, const std::string& hold, double seconds) {
  PlanShot("cpu.stutter", NodeOf(slot), hold, seconds);
  Land("seen stopped and running", NodeOf(slot), slot);
  return *this;
}

Story& Story::LinkDown(const std::string& node, const std::string& hold, double seconds) {
  PlanShot("link.down", node, hold, seconds);
  Land("IFF_RUNNING clear", node, "");
  return *this;
}

Story& Story::Armed(const std::string& kind, const std::string& slot) {
  PlanShot(kind, NodeOf(slot), "", 0);
  return *this;
}

Story& Story::Fail(const std::string& stage, const std::string& problem) {
  v1::Fact fact;
  fact.mutable_failed()->set_shot(shot_);
  fact.mutable_failed()->set_stage(stage);
  fact.mutable_failed()->set_problem(problem);
  return Say(std::move(fact), 0.1);
}

Story& Story::Withdraw(double at, bool confirmed, const std::string& reason) {
  v1::Fact fact;
  v1::ShotReverted& reverted = *fact.mutable_reverted();
  reverted.set_shot(shot_);
  reverted.set_node(node_);
  reverted.set_confirmed(confirmed);
  reverted.set_reason(reason);
  if (!confirmed) {
    reverted.set_problem("the interface is still down");
    reverted.set_by_hand("bring eth0 up");
  }
  return Say(std::move(fact), at);
}

Story& Story::Signal(double at, v1::Meaning means, const std::string& named, double width) {
  v1::Fact fact;
  v1::SignalSeen& signal = *fact.mutable_signal();
  signal.set_signal(absl::StrCat("said-", v1::Meaning_Name(means)));
  signal.set_means(means);
  signal.set_named(named);
  signal.set_step(-1);
  signal.set_source("log run/n0.err:118");
  signal.set_raw("a line of the log");
  return Say(std::move(fact), at, width);
}

Story& Story::Restored(double at, int64_t step) {
  v1::Fact fact;
  fact.mutable_signal()->set_signal("restored");
  fact.mutable_signal()->set_means(v1::RESTORED);
  fact.mutable_signal()->set_step(step);
  fact.mutable_signal()->set_source("log run/n0.err:130");
  return Say(std::move(fact), at);
}

Story& Story::Ended(double at, const std::string& slot) {
  v1::Fact fact;
  fact.mutable_process()->set_node(NodeOf(slot));
  fact.mutable_process()->set_slot(slot);
  return Say(std::move(fact), at);
}

Story& Story::Appeared(double at, const std::string& slot) {
  v1::Fact fact;
  fact.mutable_process()->set_node(NodeOf(slot));
  fact.mutable_process()->set_slot(slot);
  fact.mutable_process()->set_appeared(true);
  return Say(std::move(fact), at);
}

Story& Story::Restart(double at) {
  for (const std::string& slot : serving_) Ended(at, slot).Appeared(at + 1, slot);
  return *this;
}

Story& Story::Run(double from, double to, int64_t first_step, double steps_per_s, std::vector<std::string> slots) {
  const double period = 1 / (steps_per_s > 0 ? steps_per_s : rate_);
  if (slots.empty()) slots = serving_;
  int64_t step = first_step;
  for (double at = from; at < to; at = from + static_cast<double>(step - first_step) * period) {
    for (const std::string& slot : slots) Step(at, slot, step);
    ++step;
  }
  return *this;
}

Story& Story::Step(double at, const std::string& slot, int64_t step, double width) {
  v1::Fact fact;
  fact.mutable_progress()->set_slot(slot);
  fact.mutable_progress()->set_node(NodeOf(slot));
  fact.mutable_progress()->set_step(step);
  return Say(std::move(fact), at, width);
}

Story& Story::End(double at, bool valid, const std::string& problem) {
  v1::Fact fact;
  fact.mutable_trial_ended()->set_valid(valid);
  fact.mutable_trial_ended()->set_problem(problem);
  return Say(std::move(fact), at, 0);
}

Story& Story::RunEnds(const std::string& outcome, const std::string& problem) {
  over_ = true;
  trial_ = 0;
  v1::Fact fact;
  fact.mutable_run_ended()->set_outcome(outcome);
  fact.mutable_run_ended()->set_problem(problem);
  return Say(std::move(fact), latest_ - onset_, 0);
}

Story& Story::WriterDies() {
  over_ = true;
  return *this;
}

std::vector<v1::Fact> AllFacts(const Timeline& timeline) {
  std::vector<v1::Fact> facts = timeline.facts;
  for (const ProgressRow& row : timeline.progress.rows()) {
    const ProgressSource& source = timeline.progress.SourceOf(row);
    v1::Fact& fact = facts.emplace_back();
    fact.set_sequence(row.sequence);
    fact.set_trial(row.trial);
    fact.mutable_at()->set_earliest_ns(ToNanos(row.at.earliest));
    fact.mutable_at()->set_latest_ns(ToNanos(row.at.latest));
    fact.mutable_progress()->set_slot(timeline.progress.SlotOf(row));
    fact.mutable_progress()->set_node(source.node);
    fact.mutable_progress()->set_rank(source.rank);
    fact.mutable_progress()->set_step(row.step);
  }
  std::stable_sort(facts.begin(), facts.end(),
                   [](const auto& a, const auto& b) { return a.sequence() < b.sequence(); });
  return facts;
}

Timeline Story::Told() {
  if (!over_) RunEnds("finished");
  return sink_.Snapshot();
}

Trio Story::Measured() { return Measure(plan, Told()); }

Verdict Story::Judged() { return Judge(plan, Measured()); }

}  // namespace triodrill
