// The life of one fault on this node, from Prepare to Reverted:
//
//   preparing → prepared → recording → armed → applying → landing → held → reverting → discharging → over
//                                        └─ cancelled, missed ───────────────────────────┘     └→ stuck
//
// Pure: events in, actions out; times are the node's. Owned by AgentCore. What a crash leaves is in the journal: from
// `armed` on there is a record, and `over` is reached only without one. `stuck` keeps its record: the undo was not
// seen.
#pragma once

#include <optional>
#include <string>

#include "injectors/agent/events.h"

namespace triodrill::agent {

// How patient a node is.
struct Patience {
  Nanos fire_late = std::chrono::milliseconds(20);  // an instant missed by more is missed
  Nanos fire_ahead = std::chrono::minutes(10);      // an instant further away is a mistake
  Nanos landing = std::chrono::seconds(5);
  Nanos undo = std::chrono::seconds(5);
  Nanos revert_again = std::chrono::milliseconds(250);
  Nanos fine_for = std::chrono::milliseconds(20);  // after the fire, look this finely
  Nanos look_fine = std::chrono::microseconds(50);
  Nanos look = std::chrono::microseconds(500);
};

class Shot {
 public:
  enum class Phase {
    kPreparing,
    kPrepared,
    kRecording,
    kArmed,
    kApplying,
    kLanding,
    kHeld,
    kReverting,
    kDischarging,
    kOver,
    kStuck,
  };

  // `hold` is the shorter of what was asked and what the node's policy allows.
  Shot(const Patience& patience, v1::Prepare ask, Nanos hold);
  // What the replay of the journal left: stuck if its undo was not confirmed, else over.
  Shot(const Patience& patience, v1::UndoRecord record, v1::Reverted outcome);

  void OnPrepare(Actions& actions) const;  // the same Prepare again
  void OnArm(TimePoint fire_at, TimePoint now, Actions& actions);
  // Withdraws it in whatever phase it is, and says so at the end. "asked", "cancelled", "lease", "maximum", …
  void End(const std::string& reason, TimePoint now, Actions& actions);
  void OnTick(TimePoint now, Actions& actions);

  // `problem`: why the core does not accept what was prepared ("" = it does).
  void OnPrepared(v1::UndoRecord record, const std::string& problem, TimePoint now, Actions& actions);
  void OnRecorded(const Status& status, TimePoint now, Actions& actions);
  void OnApplied(const ApplyEnded& ended, Actions& actions);
  void OnLooked(const LookEnded& ended, Actions& actions);
  void OnReverted(const RevertEnded& ended, Actions& actions);
  void OnDischarged(const Status& status, TimePoint now, Actions& actions);

  std::optional<Wake> NextWake() const;

  Phase phase() const { return phase_; }
  // Nothing more will happen by itself.
  bool AtRest() const { return phase_ == Phase::kOver || phase_ == Phase::kStuck; }
  // Whether the coordinator's silence matters to it.
  bool NeedsCoordinator() const;
  const std::string& id() const { return ask_.fault().shot(); }
  const std::string& run_id() const { return ask_.fault().run_id(); }
  const std::string& resource() const { return record_.resource(); }
  const v1::UndoRecord& record() const { return record_; }
  const v1::Prepare& ask() const { return ask_; }
  // nullopt if there is no record on disk.
  std::optional<v1::OpenFault> Open() const;

 private:
  void Fire(TimePoint now, Actions& actions);
  void Landed(TimePoint earliest, TimePoint latest, std::string evidence, Actions& actions);
  void NotLanded(const std::string& problem, TimePoint now, Actions& actions);
  void Missed(TimePoint now, Actions& actions);
  void EndIfPending(TimePoint now, Actions& actions);
  void StartRevert(TimePoint now, Actions& actions);
  void LookedWhileLanding(const LookEnded& ended, Actions& actions);
  void LookedWhileReverting(const LookEnded& ended, Actions& actions);
  void Over(bool confirmed, const std::string& problem, Actions& actions);
  void Answer(v1::AgentSays what, Actions& actions) const;
  bool Irreversible() const { return reversal_ == v1::NONE; }
  Nanos LookAgainAfter(TimePoint now) const;

  Patience patience_;
  v1::Prepare ask_;
  v1::UndoRecord record_;
  Nanos hold_;
  v1::Reversal reversal_;
  Phase phase_ = Phase::kPreparing;

  TimePoint fire_at_;
  v1::NodeInstant fired_;
  TimePoint fine_until_;      // look finely until then
  TimePoint phase_deadline_;  // landing and reverting are given up then
  TimePoint held_until_;
  TimePoint next_look_;
  TimePoint next_revert_;
  TimePoint last_other_look_;  // the latest moment at which what is waited for was known not to be
  bool silent_end_ = false;    // the end was told already, as Missed or as Armed with a problem
  bool reverted_ = false;      // the last Revert returned ok
  bool foreign_ = false;
  std::optional<std::string> pending_end_;  // asked while an action was under way
  std::string reason_;
  std::string last_problem_;
  v1::NodeInstant gone_;
  std::optional<v1::Reverted> outcome_;
};

}  // namespace triodrill::agent
