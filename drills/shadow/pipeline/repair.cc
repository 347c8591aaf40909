// The repair, stage by stage. Every wait in it is bounded.
#include <algorithm>

#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

void Machine::Advance() {
  constexpr int kMostStages = 32;  // more than a repair has
  for (int i = 0; i < kMostStages; ++i) {
    if (!AdvanceOnce()) return;
  }
}

// Whether the stage changed.
bool Machine::AdvanceOnce() {
  const Stage before = s_.stage;
  const bool acts = before != Stage::kAssemble && before != Stage::kGaveUp && before != Stage::kStopping;
  if (acts && !s_.repair.verdicts.empty()) {
    const std::string actions = Unconfirmed();
    if (actions.empty() || s_.repair.confirmed) {
      CarryOut();
      return true;
    } else {
      AwaitConfirmation(actions);
    }
    return s_.stage != before;
  }
  switch (before) {
    case Stage::kAssemble:
      Assemble();
      break;
    case Stage::kSelfCheck:
      RunSelfCheck();
      if (!s_.repair.verdicts.empty()) return true;
      break;
    case Stage::kKill:
      AwaitKills();
      break;
    case Stage::kReplace:
      Replace();
      break;
    case Stage::kStart:
      AwaitStarts();
      break;
    case Stage::kRestore:
      Restore();
      break;
    case Stage::kJoin:
      AwaitJoins();
      break;
    case Stage::kRun:
    case Stage::kConfirm:
    case Stage::kGaveUp:
    case Stage::kStopping:
      break;
  }
  return s_.stage != before;
}

void Machine::Assemble() {
  bool all = true;
  bool serving = true;
  bool trainers = false;
  for (const TopologyNode& node : config_.topology.nodes) {
    const bool there = s_.nodes[node.name].connected;
    all = all && there;
    serving = serving && (there || node.spare);
  }
  for (const auto& [slot, state] : s_.slots) trainers = trainers || (state.trainer.Lives() && state.trainer.rank >= 0);
  // Launchers that have trainers were there before us and come back at once: this is a second start of ours.
  const bool waited = trainers ? now_ - s_.since > ToNanos(spec_.detection().heartbeat_timeout()) * 4
                               : Past(s_.since, spec_.bounds().assemble_timeout());
  if (!all && !waited) return;
  if (trainers) return Adopt();
  if (!serving) return GiveUp("the launchers of the serving nodes did not come");
  s_.placement = config_.topology.ServingSlots();
  Enter(Stage::kStart);
}

// What runs goes on. What should run and does not is dead; what does not and might is looked at before it is used.
void Machine::Adopt() {
  bool same_epoch = true;
  for (auto& [slot, state] : s_.slots) {
    Trainer& trainer = state.trainer;
    const TopologyNode* node = config_.topology.Find(slot.node);
    if (!trainer.Lives() || trainer.rank < 0 || trainer.rank >= World()) {
      state.service = node != nullptr && node->spare ? Service::kSpare : Service::kIsolated;
      state.isolated_at = now_;
      if (state.service == Service::kIsolated) Kill(slot);  // a standby on a node that is looked at first
      continue;
    }
    Slot& place = s_.placement[trainer.rank];
    if (!place.node.empty() && s_.slots[place].trainer.incarnation > trainer.incarnation) {
      Kill(slot);  // it was replaced already
      state.service = Service::kIsolated;
      state.isolated_at = now_;
      continue;
    }
    if (!place.node.empty()) {
      Kill(place);
      s_.slots[place].service = Service::kIsolated;
      s_.slots[place].isolated_at = now_;
    }
    place = slot;
    state.service = Service::kServing;
  }
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer != nullptr) {
      same_epoch = same_epoch && trainer->joined_epoch == s_.epoch;
      continue;
    }
    same_epoch = false;
    Log("detected", {{"slot", "-"},
                     {"rank", Cat(rank)},
                     {"node", "-"},
                     {"fault", "dead"},
                     {"by", "exit"},
                     {"detail", "no launcher has this rank"}});
    actions_.push_back(Truth{"detected", "", rank, -1});
  }
  s_.progress_at = now_;
  s_.whole_epoch = s_.epoch;
  if (same_epoch && s_.epoch > 0) return Enter(Stage::kRun);
  OpenCase();
  HaltAll();
  Enter(Stage::kKill);
}

void Machine::OpenCase() {
  s_.repair.open = true;
  while (!s_.recoveries.empty() && Past(s_.recoveries.front(), spec_.bounds().recovery_window())) {
    s_.recoveries.pop_front();
  }
  s_.recoveries.push_back(now_);
  if (policy_.Has(Defect::kNoBounds)) return;  // PLANTED DEFECT
  const auto most = static_cast<size_t>(spec_.bounds().max_recoveries());
  if (s_.recoveries.size() > most)
    GiveUp(Cat(s_.recoveries.size(), " recoveries within the window; ", most, " allowed"));
}

void Machine::AwaitConfirmation(const std::string& actions) {
  if (s_.stage == Stage::kConfirm) {
    if (Past(s_.since, spec_.bounds().await_timeout())) GiveUp(Cat("nobody confirmed ", actions));
    return;
  }
  HaltAll();
  Log("awaits_confirmation", {{"action", actions}, {"detail", s_.repair.verdicts.back().finding.detail}});
  Enter(Stage::kConfirm);
}

void Machine::AwaitKills() {
  bool waiting = false;
  const bool late = Past(s_.since, spec_.bounds().kill_timeout());
  for (auto& [slot, state] : s_.slots) {
    Trainer& trainer = state.trainer;
    // A standby's end is in nobody's way.
    if (!trainer.killed || !trainer.Lives() || state.service == Service::kSpare) continue;
    if (s_.nodes[slot.node].connected && !late) {
      waiting = true;
      continue;
    }
    Log("diagnosed", {{"slot", slot.Name()},
                      {"node", slot.node},
                      {"cause", late ? "the killed trainer does not end; its rank goes on without it"
                                     : "the trainer went with its launcher"}});
    if (late && state.service == Service::kServing) Isolate(slot, Level::kGpu, "a process that will not die holds it");
    trainer.exited = true;
    trainer.lingers = s_.nodes[slot.node].connected;
    trainer.end = "not seen to end";
  }
  if (!waiting) Enter(Stage::kReplace);
}

void Machine::Replace() {
  for (int rank = 0; rank < World(); ++rank) {
    if (!s_.placement[rank].node.empty()) continue;
    if (Claim(rank)) continue;
    if (Past(s_.since, spec_.bounds().await_timeout())) GiveUp(Cat("no spare slot for rank ", rank));
    return;
  }
  Enter(Stage::kStart);
}

void Machine::AwaitStarts() {
  bool waiting = false;
  for (int rank = 0; rank < World(); ++rank) {
    if (s_.placement[rank].node.empty()) return Enter(Stage::kReplace);
    const Trainer& trainer = TrainerOf(rank);
    if (trainer.incarnation == 0 || (trainer.exited && trainer.killed)) StartIn(s_.placement[rank], rank);
    waiting = waiting || !TrainerOf(rank).hello;
  }
  if (!waiting) EnterRestore();
}

void Machine::StartIn(const Slot& slot, int rank) {
  Trainer trainer;
  trainer.incarnation = s_.next_incarnation++;
  trainer.rank = rank;
  trainer.started_at = trainer.last_beat = trainer.log_at = trainer.traffic_at = now_;
  s_.slots[slot].trainer = trainer;
  std::string checks = policy_.checks;
  if (policy_.Has(Defect::kSdcBlind)) checks = "none";  // PLANTED DEFECT
  actions_.push_back(Order{slot.node, StartTrainer{slot, trainer.incarnation, rank, checks}});
}

void Machine::Kill(const Slot& slot) {
  Trainer& trainer = s_.slots[slot].trainer;
  if (trainer.exited) trainer.killed = true;  // its end is dealt with
  if (!trainer.Lives() || trainer.killed) return;
  trainer.killed = true;
  if (s_.nodes[slot.node].connected) actions_.push_back(Order{slot.node, KillTrainer{slot, trainer.incarnation}});
}

void Machine::HaltAll() {
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer != nullptr && trainer->Lives() && !trainer->killed) Tell(s_.placement[rank], Halt{s_.epoch});
  }
}

void Machine::GiveUp(std::string_view why) {
  Log("gave_up", {{"detail", std::string(why)}});
  for (const auto& [slot, state] : s_.slots) Kill(slot);
  s_.repair = Case{};
  Enter(Stage::kGaveUp);
}

}  // namespace triodrill::shadow::pipeline
