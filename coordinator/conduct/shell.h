// The shell performs what the conductor asks for: it sends to agents, writes facts, restarts the job, asks the gate;
// and it tells the conductor what happened. All branches that decide something are the conductor's or the gate's. One
// thread; a crash of it leaves agents that revert everything once the lease has passed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "coordinator/conduct/conductor.h"
#include "coordinator/conduct/inbox.h"
#include "coordinator/conduct/roster.h"
#include "coordinator/watch/signal_matcher.h"
#include "triodrill/status.h"

namespace triodrill::conduct {

// What a run works with. All of it outlives the shell.
struct Surroundings {
  fleet::Fleet& fleet;
  Inbox& inbox;
  Roster& roster;
  Clock& clock;
  const watch::SignalMatcher& matcher;
  std::function<Status(const v1::Fact&)> append;  // to the timeline
  std::function<Status()> sync;                   // the timeline to disk
  std::function<void(bool)> watch_finely;
  std::function<Status()> restart_workload;
  // The states of a run without a fault, up to so many steps; empty where the pipeline's profile knows of none.
  std::function<Result<std::vector<v1::StateReference>>(int64_t steps)> reference;
  // What is to be written before the run's end is, when everything is undone: after the last trial, however it ended.
  std::function<std::vector<v1::Fact>()> last_facts;
  std::function<std::optional<bool>()> exclusive;  // do we hold the partition?
  std::function<std::optional<bool>()> watchers_healthy;
  std::function<std::optional<std::string>()> plan_digest_on_disk;
  std::function<void(const std::string&)> say;  // to a person
  std::function<void(const State&)> pulse;      // many times a second, for a live display
  std::function<gate::Approvals()> approvals;   // what the gate is shown, with the time of now
  std::string run_id;
};

struct RunEnd {
  std::string outcome;  // finished, aborted, refused, broken
  std::string problem;
  bool undo_confirmed = true;  // of every shot, as the nodes said; the timeline may not have it
};

class Shell {
 public:
  Shell(Surroundings surroundings, std::shared_ptr<const v1::Plan> plan, const Settings& settings);

  // Returns when the conductor has finished: every fault undone, or said not to be.
  RunEnd Run();

 private:
  struct GateQuestion {
    int trial = 0;
    TimePoint until;
    std::set<std::string> clocks;  // nodes whose fresh measurement is awaited
  };

  void Greet();
  void StartWatching(const std::string& node);
  void Feed(decltype(Event::what) what);
  void Perform(Command command);
  void Take(fleet::AgentEvent event);
  void TakeSaid(const fleet::AgentEvent& event);
  void Take(const std::vector<watch::Line>& lines);
  void TakeSeen(v1::Fact seen, const Instant& at);
  void Ask(int trial);
  void AnswerGateIfReady();
  gate::Situation Look() const;
  void Send(const std::string& node, v1::CoordinatorSays what);
  void MeasureClock(const std::string& node);
  void SendPrepare(const gate::PermittedShot& shot);
  void Write(const v1::Fact& fact);
  void WriteClock(const fleet::AgentEvent& event);
  void WriteReference();
  void WriteLast(bool finished);
  Instant Map(const fleet::AgentEvent& event, const v1::NodeInstant& at) const;
  v1::Fact NewFact(const Instant& at) const;

  Surroundings around_;
  std::shared_ptr<const v1::Plan> plan_;
  std::string plan_digest_;
  State state_;
  std::optional<GateQuestion> question_;
  std::optional<RunEnd> end_;
  TimePoint started_;
  std::set<std::pair<int64_t, std::string>> states_seen_;  // step and shard of every state that was reported
  bool timeline_broken_ = false;
};

}  // namespace triodrill::conduct
