// The life of a shot: prepared, armed, fired, seen to land, held, reverted, confirmed.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/conduct/stepper.h"

namespace triodrill::conduct {

ShotState* Stepper::Find(const std::string& name) {
  for (ShotState& shot : s_.shots) {
    if (shot.shot.name() == name) return &shot;
  }
  return nullptr;
}

bool Stepper::AllOver() const {
  return std::all_of(s_.shots.begin(), s_.shots.end(),
                     [](const ShotState& shot) { return shot.stage == Stage::kOver; });
}

bool AllConfirmed(const State& state) {
  return std::all_of(state.shots.begin(), state.shots.end(),
                     [](const ShotState& shot) { return !shot.owed || shot.confirmed; });
}

void Stepper::TakeShots(std::vector<gate::PermittedShot> shots) {
  for (gate::PermittedShot& shot : shots) {
    const std::string& id = shot.planned().fault_id();
    auto fault = std::find_if(s_.faults.begin(), s_.faults.end(), [&](const FaultState& f) { return f.id == id; });
    if (fault == s_.faults.end()) {
      s_.faults.push_back({.id = id});
      fault = s_.faults.end() - 1;
    }
    fault->shots.push_back(s_.shots.size());
    s_.shots.push_back({.shot = std::move(shot)});
  }
  if (s_.shots.empty()) NothingToFire();
}

// A drill without faults: its trials begin here.
void Stepper::NothingToFire() {
  s_.onset = Instant::Exactly(now_);
  v1::Fact fact = NewFact();
  fact.mutable_landed()->set_sham(true);
  *fact.mutable_landed()->mutable_fired() = fact.at();
  fact.mutable_landed()->set_evidence("no fault in this drill");
  Write(std::move(fact));
}

bool Stepper::ConditionMet(const v1::Start& start) const {
  if (start.step() > 0) return s_.progress.high_water() >= s_.baseline->high_water + start.step();
  if (start.when().empty()) return true;
  for (const FaultState& other : s_.faults) {
    if (other.id != start.of()) continue;
    return std::all_of(other.shots.begin(), other.shots.end(), [&](size_t index) {
      const ShotState& shot = s_.shots[index];
      if (start.when() == "landed") return shot.landed.has_value();
      if (start.when() == "detected") return shot.landed.has_value() && s_.detected;
      if (start.when() == "isolated") return shot.isolated;
      return shot.stage == Stage::kOver && shot.landed.has_value();
    });
  }
  return false;
}

void Stepper::FindDue(FaultState& fault) {
  const v1::Start& start = StartOf(fault);
  if (!ConditionMet(start)) return;
  fault.due = now_ + ToNanos(start.at()) + ToNanos(s_.shots[fault.shots.front()].shot.planned().jitter());
}

void Stepper::AdvanceFault(FaultState& fault) {
  ShotState& first = s_.shots[fault.shots.front()];
  if (!s_.invalid.empty()) return;
  if (first.stage == Stage::kWaiting) {
    if (!fault.due) FindDue(fault);
    // A start that never comes must not keep the trial open for ever.
    if (!fault.due && now_ - s_.since > ToNanos(Spec().deadline().recovery())) {
      return Invalidate(absl::StrCat("fault '", fault.id, "' never came to its start"));
    }
    if (!fault.due || now_ < *fault.due) return;
    for (const size_t index : fault.shots) {
      ShotState& shot = s_.shots[index];
      shot.stage = Stage::kPreparing;
      shot.asked = now_;
      out_.push_back(PrepareShot{shot.shot});
    }
    return;
  }
  const bool ready = std::all_of(fault.shots.begin(), fault.shots.end(),
                                 [&](size_t index) { return s_.shots[index].stage == Stage::kPrepared; });
  if (ready) return Arm(fault);
  if (fault.fire_at) CheckArmed(fault);
}

void Stepper::Arm(FaultState& fault) {
  fault.fire_at = now_ + s_.settings.lead;
  for (const size_t index : fault.shots) {
    ShotState& shot = s_.shots[index];
    shot.stage = Stage::kArming;
    shot.asked = now_;
    shot.owed = !shot.shot.sham();
    out_.push_back(ArmShot{shot.shot.name(), shot.shot.node(), *fault.fire_at});
  }
}

void Stepper::CheckArmed(FaultState& fault) {
  if (now_ < *fault.fire_at - s_.settings.guard) return;
  for (const size_t index : fault.shots) {
    if (s_.shots[index].stage != Stage::kArming) continue;
    FailShot(s_.shots[index], "arm", "not armed in time: the fire is cancelled");
    return;
  }
}

void Stepper::AdvanceShot(ShotState& shot) {
  switch (shot.stage) {
    case Stage::kPreparing:
      if (now_ - shot.asked > s_.settings.prepare_within) FailShot(shot, "prepare", "the node did not answer in time");
      return;
    case Stage::kArmed:
      if (now_ - shot.asked > s_.settings.lead + s_.settings.land_within) {
        FailShot(shot, "land", "the node did not say whether the fault landed");
      }
      return;
    case Stage::kLanded:
      return HoldOrRevert(shot);
    case Stage::kReverting:
      if (now_ - shot.asked > s_.settings.undo_within) GiveUp(shot, "the node did not confirm the undo in time");
      return;
    default:
      return;
  }
}

void Stepper::HoldOrRevert(ShotState& shot) {
  if (shot.shot.sham()) {
    // Nothing was applied, but the node keeps the target reserved until it is told, or until the hold's maximum.
    out_.push_back(CancelShot{shot.shot.name(), shot.shot.node()});
    shot.stage = Stage::kOver;
    return;
  }
  const v1::Shot& planned = shot.shot.planned();
  const Nanos held = now_ - shot.landed->latest;
  if (!planned.has_hold()) {  // irreversible: the node discharges it by itself and says so
    if (held > s_.settings.undo_within) GiveUp(shot, "the node did not discharge the record");
    return;
  }
  const bool over = planned.hold().has_for_() ? held >= ToNanos(planned.hold().for_())
                                              : shot.isolated || held >= ToNanos(planned.hold().max());
  if (over) Revert(shot);
}

void Stepper::Revert(ShotState& shot) {
  if (shot.stage == Stage::kOver || shot.stage == Stage::kReverting) return;
  if (shot.stage == Stage::kWaiting) {
    shot.stage = Stage::kOver;
    return;
  }
  const bool landed = shot.stage == Stage::kLanded;
  shot.stage = Stage::kReverting;
  shot.asked = now_;
  if (landed) {
    out_.push_back(RevertShot{shot.shot.name(), shot.shot.node()});
  } else {
    out_.push_back(CancelShot{shot.shot.name(), shot.shot.node()});
    if (!shot.owed) shot.stage = Stage::kOver;  // nothing was recorded: nothing to wait for
  }
}

void Stepper::RevertAll() {
  for (ShotState& shot : s_.shots) Revert(shot);
}

void Stepper::GiveUp(ShotState& shot, const std::string& problem) {
  shot.stage = Stage::kOver;
  if (!shot.owed) return;
  v1::Fact fact = NewFact();
  v1::ShotReverted* reverted = fact.mutable_reverted();
  reverted->set_shot(shot.shot.name());
  reverted->set_node(shot.shot.node());
  reverted->set_reason("asked");
  reverted->set_problem(problem);
  reverted->set_by_hand(absl::StrCat("on ", shot.shot.node(), ": triodrill-undo --journal <its journal>"));
  Write(std::move(fact));
  Say(absl::StrCat("UNDO NOT CONFIRMED on ", shot.shot.node(), ": ", problem));
}

void Stepper::FailShot(ShotState& shot, const std::string& stage, const std::string& problem) {
  v1::Fact fact = NewFact();
  fact.mutable_failed()->set_shot(shot.shot.name());
  fact.mutable_failed()->set_stage(stage);
  fact.mutable_failed()->set_problem(problem);
  Write(std::move(fact));
  Invalidate(absl::StrCat(shot.shot.name(), " (", stage, "): ", problem));
}

void Stepper::On(PreparedSaid&& said) {
  ShotState* shot = Find(said.shot);
  if (shot == nullptr || shot->stage != Stage::kPreparing) return;
  if (!said.problem.empty()) {
    shot->stage = Stage::kOver;  // nothing was recorded, nothing is owed
    return FailShot(*shot, "prepare", said.problem);
  }
  shot->stage = Stage::kPrepared;
  v1::Fact fact = NewFact();
  v1::ShotPrepared* prepared = fact.mutable_prepared();
  prepared->set_shot(said.shot);
  prepared->set_node(shot->shot.node());
  prepared->set_slot(shot->shot.slot());
  prepared->set_kind(shot->shot.planned().kind());
  *prepared->mutable_target() = shot->shot.identity();
  prepared->set_resource(said.resource);
  prepared->set_by_hand(said.by_hand);
  Write(std::move(fact));
}

void Stepper::On(ArmedSaid&& said) {
  ShotState* shot = Find(said.shot);
  if (shot == nullptr || shot->stage != Stage::kArming) return;
  if (!said.problem.empty()) return FailShot(*shot, "arm", said.problem);
  shot->stage = Stage::kArmed;
  v1::Fact fact = NewFact();
  fact.mutable_armed()->set_shot(said.shot);
  for (const FaultState& fault : s_.faults) {
    if (fault.id != shot->shot.planned().fault_id() || !fault.fire_at) continue;
    *fact.mutable_armed()->mutable_fire_at() = ToFactInstant(Instant::Exactly(*fault.fire_at), s_.settings.epoch);
  }
  Write(std::move(fact));
}

void Stepper::On(LandedSaid&& said) {
  ShotState* shot = Find(said.shot);
  // An agent that had to dial again says again what may not have been heard.
  if (shot == nullptr || shot->stage == Stage::kOver || shot->landed) return;
  if (!said.problem.empty()) {
    if (shot->stage == Stage::kArmed) shot->stage = Stage::kLanded;  // so that it is reverted, not cancelled
    return FailShot(*shot, "land", said.problem);
  }
  shot->landed = said.at;
  if (shot->stage == Stage::kArmed || shot->stage == Stage::kArming) shot->stage = Stage::kLanded;
  s_.undisturbed_since = std::max(s_.undisturbed_since, said.at.latest);
  if (!s_.onset || said.at.earliest < s_.onset->earliest) {
    s_.onset = said.at;
    s_.high_water_at_onset = s_.progress.high_water();
  }
  v1::Fact fact = NewFact(said.at);
  v1::ShotLanded* landed = fact.mutable_landed();
  landed->set_shot(said.shot);
  landed->set_node(shot->shot.node());
  landed->set_slot(shot->shot.slot());
  landed->set_sham(shot->shot.sham());
  *landed->mutable_fired() = ToFactInstant(said.fired, s_.settings.epoch);
  landed->set_evidence(said.evidence);
  Write(std::move(fact));
  const std::string& where = shot->shot.slot().empty() ? shot->shot.node() : shot->shot.slot();
  Say(shot->shot.sham() ? "sham: nothing was applied"
                        : absl::StrCat(shot->shot.planned().kind(), " landed on ", where, ": ", said.evidence));
}

void Stepper::On(MissedSaid&& said) {
  ShotState* shot = Find(said.shot);
  if (shot == nullptr || shot->stage == Stage::kOver) return;
  FailShot(*shot, "missed", absl::StrCat("received ", said.late.count(), " ns after the instant; not fired"));
}

void Stepper::On(RevertedSaid&& said) {
  ShotState* shot = Find(said.shot);
  if (shot == nullptr || (shot->stage == Stage::kOver && shot->confirmed)) return;
  const bool expected = shot->stage == Stage::kReverting || !shot->shot.planned().has_hold() || shot->shot.sham();
  shot->stage = Stage::kOver;
  shot->confirmed = said.confirmed;
  if (shot->owed && shot->shot.planned().has_hold()) {  // a window that began under the fault says nothing of recovery
    s_.undisturbed_since = std::max(s_.undisturbed_since, said.at.latest);
    s_.recovered = false;
  }
  if (shot->owed || !said.confirmed) {
    v1::Fact fact = NewFact(said.at);
    v1::ShotReverted* reverted = fact.mutable_reverted();
    reverted->set_shot(said.shot);
    reverted->set_node(shot->shot.node());
    reverted->set_confirmed(said.confirmed);
    reverted->set_reason(said.reason);
    reverted->set_problem(said.problem);
    reverted->set_by_hand(said.by_hand);
    reverted->set_foreign(said.foreign);
    Write(std::move(fact));
    Say(said.confirmed ? absl::StrCat("undone, and seen undone (", said.reason, ")")
                       : absl::StrCat("UNDO NOT CONFIRMED: ", said.problem, "; by hand: ", said.by_hand));
  }
  if (!expected && s_.invalid.empty()) {
    Invalidate(absl::StrCat(said.shot, " was withdrawn by the node itself (", said.reason, ")"));
  }
  if (!said.confirmed) shot->owed = true;
}

void Stepper::On(AgentLost&& lost) {
  bool touched = false;
  for (ShotState& shot : s_.shots) {
    if (shot.shot.node() != lost.node || shot.stage == Stage::kOver || shot.stage == Stage::kWaiting) continue;
    touched = true;
    if (!shot.owed) {
      shot.stage = Stage::kOver;
    } else if (shot.stage != Stage::kReverting) {  // wait for the agent to come back and say what became of it
      shot.stage = Stage::kReverting;
      shot.asked = now_;
    }
  }
  if (touched) Invalidate(absl::StrCat("the agent of ", lost.node, " was lost: ", lost.problem));
}

void Stepper::On(AgentBack&& back) {
  // A record that cannot be read may be that of any shot: no silence about a shot is a confirmation beside it.
  const auto unreadable =
      std::find_if(back.open.begin(), back.open.end(), [](const v1::OpenFault& fault) { return fault.shot().empty(); });
  for (ShotState& shot : s_.shots) {
    if (shot.shot.node() != back.node || !shot.owed || shot.confirmed) continue;
    if (shot.stage != Stage::kReverting && shot.stage != Stage::kOver) continue;
    const auto open = std::find_if(back.open.begin(), back.open.end(),
                                   [&](const v1::OpenFault& fault) { return fault.shot() == shot.shot.name(); });
    if (open != back.open.end()) {
      if (open->problem().empty()) {  // the same agent, over a new stream: it still holds the fault on purpose
        out_.push_back(RevertShot{shot.shot.name(), shot.shot.node()});
      } else {
        GiveUp(shot, open->problem());
      }
      continue;
    }
    if (unreadable != back.open.end()) {
      GiveUp(shot, absl::StrCat("the undo record ", unreadable->resource(),
                                " of the node cannot be read: ", unreadable->problem()));
      continue;
    }
    shot.stage = Stage::kOver;
    shot.confirmed = true;
    v1::Fact fact = NewFact();
    fact.mutable_reverted()->set_shot(shot.shot.name());
    fact.mutable_reverted()->set_node(back.node);
    fact.mutable_reverted()->set_confirmed(true);
    fact.mutable_reverted()->set_reason("replayed when its agent came back");
    Write(std::move(fact));
  }
}

}  // namespace triodrill::conduct
