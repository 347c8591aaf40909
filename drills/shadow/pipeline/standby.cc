// Warm spares: trainers without a rank, up and waiting on spare slots, whose nodes are checked meanwhile. A take-over
// by one starts no process and waits for no check: its Join gives it the rank. What becomes of a standby is no fault of
// the job, which has lost nothing with it.
#include <algorithm>

#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr size_t kMostStarts = 3;  // of standbys in one slot, within the window of recoveries

}  // namespace

bool Machine::IsStandby(const SlotState& state) {
  return state.service == Service::kSpare && state.trainer.rank < 0 && state.trainer.Lives() && !state.trainer.killed;
}

bool Machine::IsWarm(const Slot& slot, const SlotState& state) const {
  const auto node = s_.nodes.find(slot.node);
  return IsStandby(state) && state.trainer.hello && !BeatMissing(state.trainer) && node != s_.nodes.end() &&
         node->second.connected;
}

bool Machine::MayStand(SlotState& state) {
  while (!state.standbys.empty() && Past(state.standbys.front(), spec_.bounds().recovery_window())) {
    state.standbys.pop_front();
  }
  return state.standbys.size() < kMostStarts;
}

bool Machine::KnownWell(const std::string& node) const {
  const auto found = s_.nodes.find(node);
  return found != s_.nodes.end() && found->second.well_at && !Past(*found->second.well_at, spec_.spares().check_age());
}

// Whether one is there for the rank that was just found dead, beside those that were found before it and not dealt with
// yet. A person who wants to be asked before a slot is taken out is not passed over.
bool Machine::WarmTakesOver() const {
  if (spec_.spares().warm() == 0 || spec_.tiers().isolate_gpu() == v1::CONFIRM) return false;
  const auto promised = std::count_if(s_.repair.verdicts.begin(), s_.repair.verdicts.end(),
                                      [](const Verdict& verdict) { return verdict.level != Level::kProcess; });
  const auto warm = std::count_if(s_.slots.begin(), s_.slots.end(), [this](const auto& entry) {
    return IsWarm(entry.first, entry.second) && (!spec_.spares().startup_check() || KnownWell(entry.first.node));
  });
  return warm > promised;
}

// While the job runs, and only then: a repair needs the processors more.
void Machine::TendStandbys() {
  if (spec_.spares().warm() == 0 || s_.stage != Stage::kRun || !s_.resumed) return;
  int standing = 0;
  for (auto& [slot, state] : s_.slots) {
    if (state.service != Service::kSpare || state.trainer.incarnation == 0 || state.trainer.rank >= 0) continue;
    LookAtStandby(slot, state);
    if (IsStandby(state)) ++standing;
  }
  while (standing < spec_.spares().warm() && StartStandby()) ++standing;
  if (spec_.spares().startup_check()) CheckNodesOfStandbys();
}

void Machine::LookAtStandby(const Slot& slot, SlotState& state) {
  Trainer& trainer = state.trainer;
  if (trainer.exited) {
    if (!trainer.killed) LoseStandby(slot, state, trainer.end);
    trainer = Trainer{};
    return;
  }
  if (trainer.killed || now_ < s_.deaf_until) return;
  if (!trainer.hello && Past(trainer.started_at, spec_.bounds().start_timeout())) {
    return LoseStandby(slot, state, "was started and never spoke");
  }
  if (!trainer.hello) return;
  // It has no log that grows and no traffic: one signal must do, and so it gets the time in which a whole job may
  // stall.
  if (trainer.closed || Past(trainer.last_beat, spec_.detection().stall_watchdog())) {
    return LoseStandby(slot, state, trainer.closed ? "closed its connection" : "its heartbeat is missing");
  }
  if (trainer.ready) return;
  trainer.ready = true;
  Log("standby", {{"slot", slot.Name()}, {"state", "ready"}});
}

void Machine::LoseStandby(const Slot& slot, SlotState& state, std::string_view why) {
  Kill(slot);
  Log("standby", {{"slot", slot.Name()}, {"state", "lost"}, {"detail", std::string(why)}});
  if (!MayStand(state)) Log("standby", {{"slot", slot.Name()}, {"state", "given_up"}, {"detail", "it ends too often"}});
}

// One on each node before a second one on any: what takes a spare node takes one of them. A slot where they keep ending
// counts like one, since all of its node may have the same trouble. Spare nodes first.
bool Machine::StartStandby() {
  std::optional<Slot> best;
  std::pair<bool, int64_t> cost;
  for (const TopologyNode& node : config_.topology.nodes) {
    const auto there = std::count_if(s_.slots.begin(), s_.slots.end(), [&](auto& entry) {
      return entry.first.node == node.name && (IsStandby(entry.second) || !MayStand(entry.second));
    });
    for (int i = 0; s_.nodes[node.name].connected && i < node.slots; ++i) {
      SlotState& state = s_.slots[Slot{node.name, i}];
      if (state.service != Service::kSpare || state.trainer.Lives() || !MayStand(state)) continue;
      if (best && std::pair<bool, int64_t>(!node.spare, there) >= cost) continue;
      best = Slot{node.name, i};
      cost = {!node.spare, there};
    }
  }
  if (!best) return false;
  s_.slots[*best].standbys.push_back(now_);
  Log("standby", {{"slot", best->Name()}, {"state", "starting"}});
  StartIn(*best, -1);
  return true;
}

void Machine::CheckNodesOfStandbys() {
  for (auto& [name, node] : s_.nodes) {
    const auto stands = std::find_if(s_.slots.begin(), s_.slots.end(), [&name = name](const auto& entry) {
      return entry.first.node == name && IsStandby(entry.second);
    });
    if (node.warm_check != 0) {
      const Health health = HealthOf(node.warm_check);
      if (health == Health::kUnknown) continue;
      const CheckState check = s_.checks[node.warm_check];
      s_.checks.erase(node.warm_check);
      node.warm_check = 0;
      node.well_at.reset();
      if (health == Health::kWell) {
        node.well_at = node.warm_check_at;
      } else if (stands != s_.slots.end()) {
        SpareIsSick(stands->first, "check of a standby's node", check);
      }
    } else if (stands != s_.slots.end() &&
               (!node.well_at || now_ - *node.well_at > ToNanos(spec_.spares().check_age()) / 2)) {
      node.warm_check = OrderNodeCheck(s_.checks, name, stands->first.local_rank);
      node.warm_check_at = now_;
    }
  }
}

}  // namespace triodrill::shadow::pipeline
