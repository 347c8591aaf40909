// What the agent does next: the one place where its branches are. Pure: no clock, no I/O, one thread.
//
// Contract with the executor: actions are performed in their order, and how each ended is fed back before the next
// event from outside. What a crash leaves is in the journal, never only in here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "injectors/agent/events.h"
#include "injectors/agent/shot.h"
#include "injectors/journal/journal.h"
#include "triodrill/signed/approval.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::agent {

struct Settings {
  std::string node;
  std::string version;
  std::string boot_id;
  v1::AgentPolicySpec policy;
  std::vector<v1::Capability> capabilities;
  Patience patience;
};

class Core {
 public:
  // `replayed` is what became of the journal at start, between the two times; `traces` what others have undone before
  // (the guardian of an agent that died).
  Core(Settings settings, const std::vector<ReplayOutcome>& replayed, TimePoint replay_begun, TimePoint replay_done,
       std::vector<v1::Discharged> traces = {});

  Actions On(Event event, TimePoint now);

  // When the next Tick is due; nullopt: nothing is.
  std::optional<Wake> NextWake() const;

  // Nothing will happen any more without an event from outside.
  bool AtRest() const;
  // An undo that is owed and was not seen.
  bool UndoNotConfirmed() const;

 private:
  struct Visitor;

  void OnLinkUp(Actions& actions);
  void OnLinkDown(Actions& actions);
  void OnHeard(Heard heard, TimePoint now, Actions& actions);
  void OnWelcome(const v1::Welcome& welcome, TimePoint now, Actions& actions);
  void OnPrepare(const v1::Prepare& prepare, std::optional<int64_t> wall_s, Actions& actions);
  void OnArm(const v1::Arm& arm, std::optional<int64_t> wall_s, TimePoint now, Actions& actions);
  void OnPrepareEnded(PrepareEnded ended, TimePoint now, Actions& actions);
  void OnTick(TimePoint now, Actions& actions);
  void EndAll(const std::string& reason, TimePoint now, Actions& actions);
  void EndOne(const std::string& shot, const std::string& reason, TimePoint now, Actions& actions);
  // What is said of a shot of this run that another process has undone; nullopt if there is no trace of it.
  std::optional<v1::Reverted> Traced(const std::string& shot) const;
  // "" if the node's policy and state allow it. These three are in refusal.cc.
  std::string Refusal(const v1::Prepare& prepare, std::optional<int64_t> wall_s) const;
  std::string PolicyRefusal(const v1::AimedFault& fault) const;
  std::string ApprovalRefusal(const v1::Prepare& prepare, std::optional<int64_t> wall_s) const;
  // In words, which shot holds a resource of the record; "" if none does.
  std::string WhoHoldsAResourceOf(const v1::UndoRecord& record) const;
  Nanos HoldFor(const v1::Prepare& prepare) const;
  v1::OpenFaults Open() const;
  Shot* Find(const std::string& shot);
  // Keeps what was said of shots, to say it again after a broken stream.
  void Remember(const Actions& actions, TimePoint now);
  std::optional<TimePoint> LeaseEnd() const;

  const Settings settings_;
  const ApprovalRules approvals_;
  std::map<std::string, Shot> shots_;
  const std::vector<v1::Discharged> traces_;
  const TimePoint started_;
  std::vector<v1::OpenFault> unreadable_;  // records that no shot can be made of: they arm nothing

  bool connected_ = false;
  bool shutting_down_ = false;
  std::string run_id_;
  Nanos lease_{0};             // 0: no run
  std::string lease_refusal_;  // why there is none, if one was asked for
  TimePoint last_heard_;
  TimePoint next_heartbeat_;
  std::deque<std::pair<TimePoint, v1::AgentSays>> said_;
};

// A shot's name is also a file's name.
bool IsShotName(const std::string& name);

}  // namespace triodrill::agent
