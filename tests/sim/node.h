// One node of a simulated world: a clock of its own, a disk, a rank process that faults are aimed at, and the real
// agent's core over the real journal. What performs the core's actions is this file's; a process may die between any
// two of them, or in the middle of what the journal asks of the disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "injectors/agent/core.h"
#include "tests/sim/disk.h"
#include "tests/sim/ground.h"

namespace triodrill::sim {

class Node {
 public:
  // How it reaches the coordinator. `dial` is answered by Connected, or by nothing.
  struct Wire {
    std::function<void(int node)> dial;
    std::function<void(int node, v1::AgentSays says)> say;
    std::function<void(int node)> hang_up;
  };
  Node(Ground& ground, int number, const std::string& directory, Wire wire);

  const std::string& name() const { return name_; }
  std::string slot() const { return name_ + "/0"; }

  // The agent's life.
  void Start();
  void Die(const std::string& why);  // SIGKILL; its guardian undoes what is owed, and it is started again
  void LosePower();                  // everything on it begins anew
  bool running() const { return core_ != nullptr; }
  TimePoint gone_since() const { return gone_since_; }
  // It has given an undo up, and says so.
  bool says_undo_is_owed() const { return core_ != nullptr && core_->UndoNotConfirmed(); }

  // From the wire.
  void Connected();
  void Disconnected();
  void Deliver(const v1::CoordinatorSays& says);
  // The link answers by itself, whatever the agent is busy with.
  v1::ClockReply Answer(const v1::ClockProbe& probe) const;

  // The rank process and what is done to it.
  enum class State { kHealthy, kOurs, kOthers };
  State state() const { return state_; }
  bool alive() const { return alive_; }
  int pid() const { return pid_; }
  void StartRank();       // a new process in the slot
  void ChangeByOthers();  // somebody else's pause
  void ChangeBackByOthers();

  // What a world bends.
  Disk& disk() { return disk_; }
  const Disk& disk() const { return disk_; }
  std::optional<int> dies_after;  // so many steps
  int failing_applies = 0;
  int failing_reverts = 0;
  int failing_looks = 0;
  bool lands = true;
  bool guarded = true;
  Nanos wall_step{0};
  // Since when nothing that was bent can have kept an undo from being done.
  TimePoint undisturbed_since() const { return undisturbed_since_; }
  void Disturb() { undisturbed_since_ = ground_.schedule.now(); }

  TimePoint heard() const { return heard_; }  // the coordinator, at last; the world's time
  TimePoint Clock() const;                    // the node's CLOCK_MONOTONIC, now

 private:
  class SimInjector;
  class NodeClock;
  friend class SimInjector;

  void Feed(agent::Event event);
  void Work(agent::Event event);
  std::optional<agent::Event> Perform(const agent::Action& action);
  std::optional<agent::Event> Do(const agent::Say& what);
  std::optional<agent::Event> Do(const agent::DoWatch& what);
  std::optional<agent::Event> Do(const agent::DoPrepare& what);
  std::optional<agent::Event> Do(const agent::DoRecord& what);
  std::optional<agent::Event> Do(const agent::DoApply& what);
  std::optional<agent::Event> Do(const agent::DoLook& what);
  std::optional<agent::Event> Do(const agent::DoRevert& what);
  std::optional<agent::Event> Do(const agent::DoDischarge& what);
  void ScheduleWake();
  void Step();  // a step of the process: it may be its last
  void Spend(int64_t least_us, int64_t most_us);
  TimePoint TrueNow() const { return ground_.schedule.now() + spent_; }
  std::unique_ptr<Injector> MakeInjector();
  std::vector<ReplayOutcome> ReplayAll(UndoJournal& journal);
  void Guard();
  void CheckFire(const v1::UndoRecord& record);
  void Cleared();
  v1::Identity Target() const;
  void TellOfRank(bool appeared);

  Ground& ground_;
  const int number_;
  const std::string name_;
  const Wire wire_;
  Disk disk_;
  Nanos offset_;
  int64_t drift_ppb_;
  int boot_ = 1;

  std::unique_ptr<UndoJournal> journal_;
  std::unique_ptr<agent::Core> core_;
  uint64_t life_ = 0;  // what was scheduled for an earlier one is void
  uint64_t wake_ = 0;
  TimePoint busy_until_{};
  Nanos spent_{0};  // of the work under way
  bool connected_ = false;
  bool watching_ = false;
  TimePoint heard_{};  // the world's time at which the coordinator was really heard
  std::map<std::string, int64_t> fire_at_;

  State state_ = State::kHealthy;
  bool alive_ = true;
  int pid_;
  std::string held_by_;             // the shot
  std::set<std::string> believed_;  // a mutant: of these, what was asked for is taken for done
  TimePoint undisturbed_since_{};
  TimePoint gone_since_{};
};

}  // namespace triodrill::sim
