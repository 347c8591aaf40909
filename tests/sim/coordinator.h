// The coordinator of a simulated world: the real conductor, gate and roster, and the clocks' real estimators. What the
// shell and the fleet do with threads and streams is done here from one event to the next.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/conduct/conductor.h"
#include "coordinator/conduct/roster.h"
#include "coordinator/conduct/stepper.h"
#include "coordinator/fleet/offset.h"
#include "tests/sim/ground.h"

namespace triodrill::sim {

class Coordinator {
 public:
  struct Wire {
    std::function<void(int node, v1::CoordinatorSays says)> say;
    std::function<void(int node)> hang_up;
    std::function<void()> restart_job;
    std::function<std::string()> unfit;  // the truth: why no permit may be given now
  };
  Coordinator(Ground& ground, std::shared_ptr<const v1::Plan> plan, Wire wire);

  void Tick();

  // From the wire.
  void Heard(int node, const v1::AgentSays& says);
  void Lost(int node, const std::string& problem);

  // What the pipeline's log said.
  void Step(const std::string& slot, int64_t step);
  void Report(v1::Meaning means, const std::string& named);

  void Abort();
  void Die();
  bool alive() const { return alive_; }
  bool finished() const { return end_.has_value(); }
  const std::string& outcome() const { return end_->outcome; }
  bool undo_confirmed() const { return conduct::AllConfirmed(state_) && all_confirmed_; }
  const std::vector<v1::Fact>& facts() const { return facts_; }
  const v1::Plan& plan() const { return *plan_; }

 private:
  struct Link {
    bool up = false;  // a stream is there
    bool greeted = false;
    std::optional<v1::AgentSays> hello;
    std::vector<v1::AgentSays> waiting;  // said before the clock was measured
    fleet::OffsetEstimator offset = fleet::OffsetEstimator();
    TimePoint heard;
    TimePoint renewed;
    TimePoint asked;      // the probe under way
    int probes_left = 0;  // of the measurement under way
    uint64_t sequence = 0;
  };

  void Feed(decltype(conduct::Event::what) what);
  void Perform(conduct::Command& command);
  void Write(const v1::Fact& fact);
  void CheckLanded(const v1::Fact& fact);
  void CheckReverted(const v1::Fact& fact);
  void Take(fleet::AgentEvent event);
  void TakeSaid(const fleet::AgentEvent& event);
  void Hear(int node, const v1::AgentSays& says);
  void Measure(int node);
  void Probe(int node);
  void Answered(int node, const v1::ClockReply& reply);
  fleet::OffsetBounds Offset(const Link& link) const;
  void Ask(int trial);
  void AnswerGateIfReady();
  gate::Situation Look() const;
  void SendPrepare(const gate::PermittedShot& shot);
  void Send(const std::string& node, v1::CoordinatorSays says);
  int NumberOf(const std::string& node) const { return node.back() - '0'; }
  TimePoint now() const { return ground_.schedule.now(); }

  Ground& ground_;
  const std::shared_ptr<const v1::Plan> plan_;
  const Wire wire_;
  conduct::State state_;
  conduct::Roster roster_;
  std::map<int, Link> links_;
  std::vector<v1::Fact> facts_;
  struct Question {
    int trial;
    TimePoint until;
    std::set<std::string> clocks;
  };
  std::optional<Question> question_;
  std::optional<conduct::Finish> end_;
  bool alive_ = true;
  bool all_confirmed_ = true;
};

}  // namespace triodrill::sim
