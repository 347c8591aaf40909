// Tells a run as a plan and a timeline, for tests of what comes after the timeline. Times are seconds since the current
// trial's t0 (negative: before it). Every instant is one millisecond wide unless said otherwise.
//
//   Story story;
//   story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5.0, 93).Run(5.5, 16,
//   94).End(17); const Trio trio = story.Measured();
#pragma once

#include <string>
#include <vector>

#include "reports/evidence/timeline.h"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// What a timeline holds as it was written.
std::vector<v1::Fact> AllFacts(const Timeline& timeline);

class Story {
 public:
  // Three nodes of one slot each, a step every `1 / steps_per_s` seconds. The step made last before t0 is kHighWater.
  explicit Story(double steps_per_s = 10);
  static constexpr int64_t kHighWater = 1000;

  v1::Plan plan;
  v1::Expect& expect() { return *plan.mutable_drill()->mutable_spec()->mutable_expect(); }
  // Replaces the nodes; before the first trial.
  Story& Nodes(int nodes, int slots_each);
  Story& Spare(const std::string& slot);  // a slot that exists and does not serve

  // A trial with its baseline: every serving slot steps until t0.
  Story& Trial();
  Story& Sham();

  // A fault is prepared, armed and seen to land at t0. `hold`: "" none, "until" (isolated, at most `seconds`), "for".
  Story& Kill(const std::string& slot);
  Story& Broken(const std::string& kind, const std::string& slot);  // in another way that cannot be withdrawn
  Story& Pause(const std::string& slot, const std::string& hold, double seconds);
  Story& Throttle(const std::string& slot, const std::string& hold, double seconds);
  Story& LinkDown(const std::string& node, const std::string& hold, double seconds);
  Story& Armed(const std::string& kind, const std::string& slot);  // and never seen to land
  Story& Fail(const std::string& stage, const std::string& problem);
  Story& Withdraw(double at, bool confirmed = true, const std::string& reason = "asked");

  Story& Signal(double at, v1::Meaning means, const std::string& named = "", double width = 0.001);
  Story& Restored(double at, int64_t step);
  Story& Ended(double at, const std::string& slot);
  Story& Appeared(double at, const std::string& slot);
  Story& Restart(double at);  // every serving slot ends now and appears a second later
  // Steps from `from` to `to` by the slots (all serving ones if none are given).
  Story& Run(double from, double to, int64_t first_step, double steps_per_s = 0, std::vector<std::string> slots = {});
  Story& Step(double at, const std::string& slot, int64_t step, double width = 0.001);
  Story& End(double at, bool valid = true, const std::string& problem = "");

  // The run's last fact; without it the writer died. Called by Told() with "finished" if nobody did.
  Story& RunEnds(const std::string& outcome, const std::string& problem = "");
  Story& WriterDies();
  // Any other fact.
  Story& Say(v1::Fact fact, double at, double width = 0.001);

  Timeline Told();
  Trio Measured();
  Verdict Judged();

 private:
  void Begin(bool sham);
  void Land(const std::string& kind, const std::string& node, const std::string& slot);
  v1::Shot& PlanShot(const std::string& kind, const std::string& node, const std::string& hold, double seconds);
  v1::PlannedTrial& Planned() { return *plan.mutable_trials(plan.trials_size() - 1); }

  double rate_;
  double onset_ = 0;  // of the current trial, in seconds of the run
  double latest_ = 0;
  int trial_ = 0;
  bool over_ = false;
  std::string shot_;
  std::string node_;
  std::string slot_;
  std::vector<std::string> serving_;
  MemorySink sink_;
};

// A Duration of so many seconds.
google::protobuf::Duration Lasting(double seconds);

}  // namespace triodrill
