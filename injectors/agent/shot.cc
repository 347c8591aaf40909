#include "injectors/agent/shot.h"

#include <algorithm>
#include <utility>

#include "injectors/journal/settle.h"

namespace triodrill::agent {
namespace {

v1::NodeInstant NodeInstantOf(TimePoint earliest, TimePoint latest) {
  v1::NodeInstant instant;
  instant.set_earliest_node_ns(ToNanos(earliest));
  instant.set_latest_node_ns(ToNanos(latest));
  return instant;
}

std::string Text(const Status& status) { return std::string(status.message()); }

}  // namespace

Shot::Shot(const Patience& patience, v1::Prepare ask, Nanos hold)
    : patience_(patience), ask_(std::move(ask)), hold_(hold), reversal_(ReversalOf(ask_.fault().kind())) {}

Shot::Shot(const Patience& patience, v1::UndoRecord record, v1::Reverted outcome)
    : patience_(patience),
      record_(std::move(record)),
      hold_(Nanos(record_.max_hold_ns())),
      reversal_(ReversalOf(record_.fault().kind())),
      phase_(outcome.confirmed() ? Phase::kOver : Phase::kStuck),
      reason_(outcome.reason()),
      last_problem_(outcome.problem()),
      outcome_(std::move(outcome)) {
  *ask_.mutable_fault() = record_.fault();
}

bool Shot::NeedsCoordinator() const { return !AtRest() && phase_ < Phase::kReverting; }

std::optional<v1::OpenFault> Shot::Open() const {
  const bool recorded = phase_ >= Phase::kArmed && phase_ != Phase::kOver;
  if (!recorded || ask_.sham()) return std::nullopt;
  v1::OpenFault open;
  open.set_shot(id());
  open.set_run_id(run_id());
  open.set_kind(ask_.fault().kind());
  open.set_resource(resource());
  open.set_by_hand(record_.by_hand());
  if (phase_ == Phase::kStuck) open.set_problem(last_problem_);
  return open;
}

void Shot::Answer(v1::AgentSays what, Actions& actions) const { actions.push_back(Say{std::move(what)}); }

void Shot::OnPrepare(Actions& actions) const {
  v1::AgentSays says;
  auto& prepared = *says.mutable_prepared();
  prepared.set_shot(id());
  if (phase_ == Phase::kPrepared) {
    *prepared.mutable_target() = record_.fault().target();
    prepared.set_resource(resource());
    prepared.set_by_hand(record_.by_hand());
  } else {
    prepared.set_problem("prepare shot " + id() + ": it was armed or ended already; next: use another shot");
  }
  Answer(std::move(says), actions);
}

void Shot::OnPrepared(v1::UndoRecord record, const std::string& problem, TimePoint now, Actions& actions) {
  record_ = std::move(record);
  phase_ = problem.empty() ? Phase::kPrepared : Phase::kOver;
  if (problem.empty()) {
    OnPrepare(actions);
    EndIfPending(now, actions);
    return;
  }
  v1::AgentSays says;
  says.mutable_prepared()->set_shot(id());
  says.mutable_prepared()->set_problem(problem);
  Answer(std::move(says), actions);
}

void Shot::OnArm(TimePoint fire_at, TimePoint now, Actions& actions) {
  v1::AgentSays says;
  says.mutable_armed()->set_shot(id());
  if (phase_ == Phase::kArmed && fire_at == fire_at_) {
    Answer(std::move(says), actions);
    return;
  }
  if (phase_ != Phase::kPrepared) {
    says.mutable_armed()->set_problem("arm shot " + id() + ": it is not waiting to be armed");
    Answer(std::move(says), actions);
    return;
  }
  if (fire_at > now + patience_.fire_ahead) {
    says.mutable_armed()->set_problem("arm shot " + id() + ": its instant is too far away; next: measure the clock");
    Answer(std::move(says), actions);
    return;
  }
  fire_at_ = fire_at;
  if (now >= fire_at) {
    phase_ = Phase::kOver;
    Missed(now, actions);
  } else if (ask_.sham()) {
    phase_ = Phase::kArmed;
    Answer(std::move(says), actions);
  } else {
    phase_ = Phase::kRecording;
    actions.push_back(DoRecord{record_, fire_at + hold_});
  }
}

void Shot::OnRecorded(const Status& status, TimePoint now, Actions& actions) {
  if (!status.ok()) {
    v1::AgentSays says;
    says.mutable_armed()->set_shot(id());
    says.mutable_armed()->set_problem(Text(status));
    Answer(std::move(says), actions);
    // The record may be there all the same. Nothing was applied, so it may go.
    silent_end_ = true;
    reason_ = "not recorded";
    phase_ = Phase::kDischarging;
    actions.push_back(DoDischarge{id()});
    return;
  }
  phase_ = Phase::kArmed;
  if (now >= fire_at_) {
    Missed(now, actions);
    return;
  }
  v1::AgentSays says;
  says.mutable_armed()->set_shot(id());
  Answer(std::move(says), actions);
  EndIfPending(now, actions);
}

void Shot::EndIfPending(TimePoint now, Actions& actions) {
  if (!pending_end_) return;
  const std::string reason = *std::exchange(pending_end_, std::nullopt);
  End(reason, now, actions);
}

// Reported, never fired late.
void Shot::Missed(TimePoint now, Actions& actions) {
  v1::AgentSays says;
  says.mutable_missed()->set_shot(id());
  says.mutable_missed()->set_late_ns((now - fire_at_).count());
  Answer(std::move(says), actions);
  silent_end_ = true;
  reason_ = "missed";
  if (phase_ == Phase::kArmed && !ask_.sham()) {
    phase_ = Phase::kDischarging;
    gone_ = NodeInstantOf(now, now);
    actions.push_back(DoDischarge{id()});
  } else {
    gone_ = NodeInstantOf(now, now);
    Over(true, "", actions);
  }
}

void Shot::OnTick(TimePoint now, Actions& actions) {
  switch (phase_) {
    case Phase::kArmed:
      if (now >= fire_at_) Fire(now, actions);
      break;
    case Phase::kLanding:
    case Phase::kHeld:
      if (now >= held_until_) {
        End("maximum", now, actions);
      } else if (phase_ == Phase::kLanding && now >= next_look_) {
        actions.push_back(DoLook{record_});
      }
      break;
    case Phase::kReverting:
      if (now >= next_revert_) {
        next_revert_ = now + patience_.revert_again;
        actions.push_back(DoRevert{record_});
      } else if (now >= next_look_) {
        actions.push_back(DoLook{record_});
      }
      break;
    default:
      break;
  }
}

void Shot::Fire(TimePoint now, Actions& actions) {
  if (now > fire_at_ + patience_.fire_late) {
    Missed(now, actions);
  } else if (ask_.sham()) {
    fired_ = NodeInstantOf(fire_at_, fire_at_);
    held_until_ = fire_at_ + hold_;
    Landed(fire_at_, fire_at_, "sham: nothing was applied", actions);
  } else {
    phase_ = Phase::kApplying;
    actions.push_back(DoApply{record_});
  }
}

void Shot::OnApplied(const ApplyEnded& ended, Actions& actions) {
  fired_ = NodeInstantOf(ended.begun, ended.done);
  held_until_ = ended.begun + hold_;
  last_other_look_ = ended.begun;
  fine_until_ = ended.done + patience_.fine_for;
  phase_deadline_ = ended.begun + patience_.landing;
  phase_ = Phase::kLanding;
  if (!ended.status.ok()) {
    NotLanded(Text(ended.status), ended.done, actions);
    return;
  }
  if (pending_end_) {
    EndIfPending(ended.done, actions);
    return;
  }
  actions.push_back(DoLook{record_});
}

Nanos Shot::LookAgainAfter(TimePoint now) const { return now < fine_until_ ? patience_.look_fine : patience_.look; }

void Shot::OnLooked(const LookEnded& ended, Actions& actions) {
  if (phase_ == Phase::kLanding)
    LookedWhileLanding(ended, actions);
  else if (phase_ == Phase::kReverting)
    LookedWhileReverting(ended, actions);
}

void Shot::LookedWhileLanding(const LookEnded& ended, Actions& actions) {
  if (ended.effect.ok() && ended.effect->presence == Presence::kPresent) {
    Landed(last_other_look_, ended.done, ended.effect->evidence, actions);
    return;
  }
  // Only a look that says absent moves the early bound: one that failed has seen nothing.
  if (ended.effect.ok() && ended.effect->presence == Presence::kAbsent) last_other_look_ = ended.begun;
  last_problem_ = ended.effect.ok() ? ended.effect->evidence : Text(ended.effect.status());
  if (ended.done >= phase_deadline_) {
    NotLanded("not seen within " + std::to_string(patience_.landing.count() / 1'000'000) +
                  " ms of being applied; last look: " + last_problem_,
              ended.done, actions);
    return;
  }
  next_look_ = ended.done + LookAgainAfter(ended.done);
}

void Shot::Landed(TimePoint earliest, TimePoint latest, std::string evidence, Actions& actions) {
  v1::AgentSays says;
  auto& landed = *says.mutable_landed();
  landed.set_shot(id());
  *landed.mutable_fired() = fired_;
  *landed.mutable_at() = NodeInstantOf(earliest, latest);
  landed.set_evidence(std::move(evidence));
  Answer(std::move(says), actions);
  phase_ = Phase::kHeld;
  if (Irreversible()) End("irreversible: nothing to undo", latest, actions);
}

void Shot::NotLanded(const std::string& problem, TimePoint now, Actions& actions) {
  v1::AgentSays says;
  says.mutable_landed()->set_shot(id());
  *says.mutable_landed()->mutable_fired() = fired_;
  says.mutable_landed()->set_problem(problem);
  Answer(std::move(says), actions);
  if (reason_.empty()) reason_ = "apply failed";
  StartRevert(now, actions);
}

void Shot::End(const std::string& reason, TimePoint now, Actions& actions) {
  if (phase_ == Phase::kOver) {
    if (outcome_) {
      v1::AgentSays says;
      *says.mutable_reverted() = *outcome_;
      Answer(std::move(says), actions);
    }
    return;
  }
  if (phase_ >= Phase::kReverting && phase_ != Phase::kStuck) return;  // on its way already
  if (phase_ == Phase::kPreparing || phase_ == Phase::kRecording || phase_ == Phase::kApplying) {
    pending_end_ = reason;  // how the action under way ended decides what there is to withdraw
    return;
  }
  reason_ = reason;
  gone_ = NodeInstantOf(now, now);
  if (phase_ == Phase::kLanding) {
    NotLanded("withdrawn before it was seen: " + reason, now, actions);
  } else if (phase_ == Phase::kStuck || (phase_ == Phase::kHeld && !ask_.sham() && !Irreversible())) {
    silent_end_ = false;
    StartRevert(now, actions);
  } else if (ask_.sham() || phase_ == Phase::kPrepared) {
    Over(true, "", actions);
  } else {
    // Armed and never applied, or landed and never to be undone.
    phase_ = Phase::kDischarging;
    actions.push_back(DoDischarge{id()});
  }
}

void Shot::StartRevert(TimePoint now, Actions& actions) {
  phase_ = Phase::kReverting;
  last_other_look_ = now;
  fine_until_ = now + patience_.fine_for;
  phase_deadline_ = now + patience_.undo;
  next_revert_ = now + patience_.revert_again;
  next_look_ = now;
  last_problem_.clear();
  actions.push_back(DoRevert{record_});
}

void Shot::OnReverted(const RevertEnded& ended, Actions& actions) {
  if (phase_ != Phase::kReverting) return;
  reverted_ = ended.status.ok();
  last_problem_ = Text(ended.status);
  actions.push_back(DoLook{record_});
}

void Shot::LookedWhileReverting(const LookEnded& ended, Actions& actions) {
  const bool seen = ended.effect.ok();
  const Debt debt = seen ? DebtAfter(reversal_, ended.effect->presence) : Debt::kOwed;
  // What a failed undo left may not show in a look at the effect alone.
  if (reverted_ && debt == Debt::kNone) {
    gone_ = NodeInstantOf(last_other_look_, ended.done);
    phase_ = Phase::kDischarging;
    actions.push_back(DoDischarge{id()});
    return;
  }
  if (seen && debt == Debt::kOwed) last_other_look_ = ended.begun;
  if (ended.done < phase_deadline_) {
    next_look_ = ended.done + patience_.look;
    return;
  }
  gone_.Clear();
  foreign_ = debt == Debt::kForeign;
  std::string problem = seen ? ended.effect->evidence : Text(ended.effect.status());
  if (foreign_) problem = "changed by somebody else, left as it is: " + problem;
  if (!foreign_ && seen) problem = "still there after the revert: " + problem;
  if (!last_problem_.empty()) problem = "revert: " + last_problem_ + "; " + problem;
  Over(false, problem, actions);
}

void Shot::OnDischarged(const Status& status, TimePoint now, Actions& actions) {
  if (phase_ != Phase::kDischarging) return;
  if (status.ok() || absl::IsNotFound(status)) {
    if (!gone_.latest_node_ns()) gone_ = NodeInstantOf(now, now);
    Over(true, "", actions);
    return;
  }
  silent_end_ = false;
  Over(false, "the fault is gone, but its record could not be removed: " + Text(status), actions);
}

void Shot::Over(bool confirmed, const std::string& problem, Actions& actions) {
  phase_ = confirmed ? Phase::kOver : Phase::kStuck;
  last_problem_ = problem;
  v1::Reverted outcome;
  outcome.set_shot(id());
  outcome.set_confirmed(confirmed);
  *outcome.mutable_at() = gone_;
  outcome.set_reason(reason_);
  outcome.set_problem(problem);
  outcome.set_foreign(!confirmed && foreign_);
  if (!confirmed) outcome.set_by_hand(record_.by_hand());
  outcome_ = outcome;
  if (silent_end_) return;
  v1::AgentSays says;
  *says.mutable_reverted() = std::move(outcome);
  Answer(std::move(says), actions);
}

std::optional<Wake> Shot::NextWake() const {
  switch (phase_) {
    case Phase::kArmed:
      return Wake{fire_at_, true};
    case Phase::kLanding:
      // Not precise: a look that spins could keep the target from the processor on which it is to end.
      return Wake{std::min(next_look_, held_until_), false};
    case Phase::kHeld:
      return Wake{held_until_, false};
    case Phase::kReverting:
      return Wake{std::min(next_look_, next_revert_), false};
    default:
      return std::nullopt;
  }
}

}  // namespace triodrill::agent
