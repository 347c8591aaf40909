// A stage for the conductor: simulated time, a job that makes steps, nodes that do what they are told. Every test bends
// one of them. No clock, no thread: one event after another.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/conduct/conductor.h"
#include "coordinator/plan/plan.h"
#include "tests/unit/plan/world.h"

namespace triodrill::testing {

class Stage {
 public:
  explicit Stage(const v1::Drill& drill) : plan_(std::make_shared<v1::Plan>(PlanOf(drill))) {
    state_ = conduct::Begin(plan_, settings_, now_);
  }

  // What a test bends.
  double steps_per_s = 10;            // of the job while it runs
  bool job_stalls_while_held = true;  // as under a pause
  bool gate_denies = false;
  bool agents_answer_prepare = true;
  bool agents_arm = true;
  bool agents_land = true;
  bool agents_revert = true;
  bool undo_confirmed = true;
  std::string prepare_problem;
  std::string land_problem;
  Nanos job_back_after_kill = std::chrono::seconds(6);
  std::function<void(Stage&)> every_tick = [](Stage&) {};

  // Runs until the conductor has finished, or for `most`.
  void Run(Nanos most = std::chrono::minutes(30)) {
    const TimePoint end = now_ + most;
    while (!finished_ && now_ < end) Tick();
  }

  void Tick() {
    now_ += std::chrono::milliseconds(10);
    MakeSteps();
    every_tick(*this);
    while (!due_.empty() && due_.front().first <= now_) {
      auto what = std::move(due_.front().second);
      due_.pop_front();
      Feed(std::move(what));
    }
    Feed(conduct::Tick{});
  }

  void Feed(decltype(conduct::Event::what) what) {
    conduct::Reaction reaction = conduct::Step(std::move(state_), {now_, std::move(what)});
    state_ = std::move(reaction.state);
    for (conduct::Command& command : reaction.commands) Perform(command);
  }

  TimePoint now() const { return now_; }
  const conduct::State& state() const { return state_; }
  bool finished() const { return finished_; }
  const std::string& outcome() const { return outcome_; }
  const std::string& problem() const { return problem_; }
  const std::vector<v1::Fact>& facts() const { return facts_; }
  const std::set<std::string>& held() const { return held_; }   // shots whose effect is there
  const std::vector<std::string>& log() const { return log_; }  // commands, in order
  int restarts() const { return restarts_; }
  int most_held() const { return most_held_; }

  int Count(v1::Fact::WhatCase what) const {
    int n = 0;
    for (const v1::Fact& fact : facts_) n += fact.what_case() == what ? 1 : 0;
    return n;
  }
  const v1::Fact* First(v1::Fact::WhatCase what) const {
    for (const v1::Fact& fact : facts_) {
      if (fact.what_case() == what) return &fact;
    }
    return nullptr;
  }

 private:
  void MakeSteps() {
    const bool stalled = (job_stalls_while_held && !held_.empty()) || now_ < job_back_at_ || steps_per_s <= 0;
    if (stalled) {
      next_step_ = now_;
      return;
    }
    if (now_ < next_step_) return;
    next_step_ = now_ + Nanos(static_cast<int64_t>(1e9 / steps_per_s));
    ++step_;
    for (int i = 0; i < 3; ++i) Feed(conduct::StepDone{absl::StrCat("n", i, "/0"), step_});
  }

  void Later(Nanos in, decltype(conduct::Event::what) what) { due_.emplace_back(now_ + in, std::move(what)); }

  void Perform(conduct::Command& command) {
    if (auto* write = std::get_if<conduct::WriteFact>(&command)) {
      facts_.push_back(std::move(write->fact));
    } else if (auto* ask = std::get_if<conduct::AskGate>(&command)) {
      Later(std::chrono::milliseconds(20), conduct::GateSaid{Decide(ask->trial)});
    } else if (auto* prepare = std::get_if<conduct::PrepareShot>(&command)) {
      log_.push_back("prepare");
      sham_[prepare->shot.name()] = prepare->shot.sham();
      kill_[prepare->shot.name()] = prepare->shot.planned().kind() == "process.kill";
      if (agents_answer_prepare) {
        Later(std::chrono::milliseconds(5), conduct::PreparedSaid{prepare->shot.name(), prepare_problem});
      }
    } else if (auto* arm = std::get_if<conduct::ArmShot>(&command)) {
      log_.push_back("arm");
      PerformArm(*arm);
    } else if (auto* cancel = std::get_if<conduct::CancelShot>(&command)) {
      log_.push_back("cancel");
      std::erase_if(due_, [](const auto& due) { return std::holds_alternative<conduct::LandedSaid>(due.second); });
      Undo(cancel->shot, "cancelled");
    } else if (auto* revert = std::get_if<conduct::RevertShot>(&command)) {
      log_.push_back("revert");
      Undo(revert->shot, "asked");
    } else if (std::holds_alternative<conduct::RestartWorkload>(command)) {
      ++restarts_;
    } else if (auto* finish = std::get_if<conduct::Finish>(&command)) {
      finished_ = true;
      outcome_ = finish->outcome;
      problem_ = finish->problem;
    }
  }

  void PerformArm(const conduct::ArmShot& arm) {
    if (!agents_arm) return;
    Later(std::chrono::milliseconds(5), conduct::ArmedSaid{arm.shot, ""});
    if (!agents_land) return;
    const Instant at{arm.fire_at, arm.fire_at + std::chrono::microseconds(300)};
    const Nanos in = arm.fire_at - now_ + std::chrono::milliseconds(1);
    Later(in, conduct::LandedSaid{arm.shot, at, at, "seen", land_problem});
    if (sham_[arm.shot] || !land_problem.empty()) return;
    if (kill_[arm.shot]) {
      job_back_at_ = arm.fire_at + job_back_after_kill;
      Later(in + std::chrono::milliseconds(1),
            conduct::RevertedSaid{arm.shot, true, at, "irreversible: nothing to undo", "", "", false});
    } else {
      held_.insert(arm.shot);
      most_held_ = std::max(most_held_, static_cast<int>(held_.size()));
    }
  }

  void Undo(const std::string& shot, const std::string& reason) {
    if (!agents_revert) return;
    held_.erase(shot);
    Later(std::chrono::milliseconds(5), conduct::RevertedSaid{shot, undo_confirmed, Instant::Exactly(now_), reason,
                                                              undo_confirmed ? "" : "still stopped", "kill -CONT 77"});
  }

  gate::Decision Decide(int trial) const {
    gate::Situation now;
    now.plan = plan_.get();
    now.plan_digest = "d";
    now.digest_on_disk = gate_denies ? "e" : "d";
    now.trial = trial;
    for (const auto& [name, hello] : AbleNodes()) {
      now.nodes[name] = {hello, std::vector<v1::OpenFault>{}, Nanos(1000)};
    }
    now.targets.emplace();
    for (const v1::Shot& shot : plan_->trials(trial - 1).shots()) {
      gate::Resolved target{.shot = plan::ShotName(trial, shot), .node = shot.node(), .slot = shot.node() + "/0"};
      target.identity.mutable_process()->set_pid(77);
      now.targets->push_back(target);
    }
    now.exclusive = now.watchers_healthy = now.baseline_steady = true;
    now.quiet = std::chrono::seconds(10);
    return gate::Gate::Evaluate(now);
  }

  std::shared_ptr<const v1::Plan> plan_;
  conduct::Settings settings_;
  conduct::State state_;
  TimePoint now_ = FromNanos(1'000'000'000);
  TimePoint next_step_{};
  TimePoint job_back_at_{};
  int64_t step_ = 0;
  std::deque<std::pair<TimePoint, decltype(conduct::Event::what)>> due_;
  std::vector<v1::Fact> facts_;
  std::vector<std::string> log_;
  std::set<std::string> held_;
  std::map<std::string, bool> sham_, kill_;
  int restarts_ = 0;
  int most_held_ = 0;
  bool finished_ = false;
  std::string outcome_, problem_;
};

}  // namespace triodrill::testing
