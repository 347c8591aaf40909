#include "reports/measure/onset.h"

#include <algorithm>

#include "triodrill/schema/catalogue.h"

namespace triodrill {
namespace {

const Instant& Later(const Instant& a, const Instant& b) { return a.latest < b.latest ? b : a; }

void Postpone(std::optional<Instant>& last, const Instant& at) { last = last ? Later(*last, at) : at; }

SlotSet FaultedSlots(const v1::ShotLanded& landed, const Topology& topology) {
  if (!landed.slot().empty()) return {landed.slot()};
  return topology.SlotsOf(landed.node());
}

FaultedTarget TargetOf(const ShotFacts& shot) {
  const v1::ShotLanded& landed = shot.landed->landed();
  const FaultRow* row = FindFaultRow(shot.Kind());
  return {.shot = shot.shot,
          .kind = shot.Kind(),
          .level = row != nullptr ? row->facts.level() : v1::LEVEL_UNSPECIFIED,
          .node = landed.node(),
          .slot = landed.slot(),
          .landed = InstantOf(*shot.landed),
          .evidence = landed.evidence()};
}

// The pipeline said that it isolated what the shot hit, before the shot was taken back.
bool IsolatedBefore(const TrialFacts& facts, const SlotSet& faulted, const Instant& onset, const Instant& withdrawn) {
  return std::any_of(facts.signals.begin(), facts.signals.end(), [&](const v1::Fact* fact) {
    if (fact->signal().means() != v1::ISOLATED) return false;
    const Instant at = InstantOf(*fact);
    if (Precedes(at, onset) || at.earliest > withdrawn.latest) return false;
    return std::any_of(faulted.begin(), faulted.end(),
                       [&](const std::string& slot) { return Topology::Means(fact->signal().named(), slot); });
  });
}

bool IsHeld(const ShotFacts& shot) { return shot.planned != nullptr && !shot.planned->hold().until().empty(); }

// Taken back for a reason that the drill did not ask for: a lease, a maximum, an abort, a replay after a crash.
bool CutShort(const v1::ShotReverted& reverted) { return !reverted.reason().empty() && reverted.reason() != "asked"; }

bool CanBeTakenBack(const std::string& kind) {
  const FaultRow* row = FindFaultRow(kind);
  return row == nullptr || row->facts.reversal() != v1::NONE;
}

void NoteWithdrawal(const TrialFacts& facts, const ShotFacts& shot, const SlotSet& faulted, Onset& onset) {
  if (shot.reverted == nullptr || !CanBeTakenBack(shot.Kind())) return;
  const Instant gone = InstantOf(*shot.reverted);
  Postpone(onset.withdrawn, gone);
  if (IsHeld(shot) && IsolatedBefore(facts, faulted, InstantOf(*shot.landed), gone)) return;
  onset.barriers.push_back(gone);
  if (IsHeld(shot) || CutShort(shot.reverted->reverted())) Postpone(onset.forced, gone);
}

// Shots that owe an undo unless somebody says that nothing was applied.
bool Owes(const ShotFacts& shot) {
  if (shot.landed != nullptr) return true;
  if (shot.failed != nullptr) {
    const std::string& stage = shot.failed->failed().stage();
    return stage == "apply" || stage == "land";
  }
  return shot.armed != nullptr;
}

}  // namespace

std::optional<Onset> FindOnset(const TrialFacts& facts, const Topology& topology) {
  std::optional<Onset> onset;
  bool all_held = true;
  for (const ShotFacts& shot : facts.shots) {
    if (shot.landed == nullptr || shot.landed->landed().sham() != facts.sham) continue;
    const Instant at = InstantOf(*shot.landed);
    if (!onset) {
      onset.emplace();
      onset->t0 = at;
      onset->began = at.earliest;
    }
    if (at.earliest < onset->t0.earliest) onset->t0 = at;
    onset->began = std::min(onset->began, at.earliest);
    if (facts.sham) continue;
    if (shot.landed->landed().has_fired()) {
      onset->began = std::min(onset->began, ToInstant(shot.landed->landed().fired()).earliest);
    }
    SlotSet faulted = FaultedSlots(shot.landed->landed(), topology);
    onset->targets.push_back(TargetOf(shot));
    NoteWithdrawal(facts, shot, faulted, *onset);
    onset->faulted.merge(faulted);
    all_held = all_held && IsHeld(shot) && shot.reverted != nullptr;
  }
  if (onset && all_held) onset->credit_ends = onset->withdrawn;
  return onset;
}

std::optional<OpenUndo> OpenUndoOf(const ShotFacts& shot, bool sham) {
  OpenUndo open{.shot = shot.shot, .node = "", .problem = "", .by_hand = ""};
  if (shot.prepared != nullptr) {
    open.node = shot.prepared->prepared().node();
    open.by_hand = shot.prepared->prepared().by_hand();
  } else if (shot.landed != nullptr) {
    open.node = shot.landed->landed().node();
  }
  if (shot.reverted != nullptr) {
    const v1::ShotReverted& said = shot.reverted->reverted();
    if (said.confirmed()) return std::nullopt;
    open.problem = !said.problem().empty() ? said.problem()
                   : said.foreign()        ? "somebody else changed the resource meanwhile; it was left as it is"
                                           : "the node did not see it gone";
    if (!said.node().empty()) open.node = said.node();
    if (!said.by_hand().empty()) open.by_hand = said.by_hand();
    return open;
  }
  if (sham || !Owes(shot) || !CanBeTakenBack(shot.Kind())) return std::nullopt;
  open.problem = "nobody said that it was undone";
  return open;
}

void MeasureUndo(const TrialFacts& facts, TrialTrio& trial) {
  bool undone = false;
  for (const ShotFacts& shot : facts.shots) {
    if (std::optional<OpenUndo> open = OpenUndoOf(shot, facts.sham)) {
      trial.open_undos.push_back(*std::move(open));
    } else if (shot.reverted != nullptr && Owes(shot) && !facts.sham && CanBeTakenBack(shot.Kind())) {
      undone = true;
    }
  }
  trial.undo = !trial.open_undos.empty() ? UndoState::kNotConfirmed
               : undone                  ? UndoState::kConfirmed
                                         : UndoState::kNothingToUndo;
}

}  // namespace triodrill
