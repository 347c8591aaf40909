// The pool of spare slots: who may be claimed, and who comes back to it.
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

// A node is well if its loop-back is, and if it reaches most of the others: one of those may be the sick one.
Machine::Health Machine::HealthOf(int check) const {
  const auto found = s_.checks.find(check);
  if (found == s_.checks.end()) return Health::kSick;
  const CheckState& state = found->second;
  if (!state.done) return now_ > state.deadline ? Health::kSick : Health::kUnknown;
  const bool reaches_most = !state.unreachable.empty() && state.unreachable.size() * 2 < state.peers;
  return state.ok || reaches_most ? Health::kWell : Health::kSick;
}

Machine::Ready Machine::ReadinessOf(const Slot& slot) {
  SlotState& state = s_.slots[slot];
  if (state.service != Service::kSpare || !s_.nodes[slot.node].connected) return Ready::kNever;
  if (IsWarm(slot, state)) return Ready::kWarm;
  // A silent one is taken if there is nothing better, and is then found out as a rank would be.
  if (IsStandby(state)) return state.trainer.hello ? Ready::kDoubtful : Ready::kStarting;
  if (state.trainer.Lives()) return Ready::kNever;
  return MayStand(state) ? Ready::kCold : Ready::kDoubtful;
}

// Who is ready first; of those, spare nodes before slots that came back from quarantine.
std::optional<Slot> Machine::PickSpare() {
  std::optional<Slot> best;
  Ready readiness = Ready::kNever;
  for (const bool spare_node : {true, false}) {
    for (const TopologyNode& node : config_.topology.nodes) {
      for (int i = 0; node.spare == spare_node && i < node.slots; ++i) {
        const Ready one = ReadinessOf(Slot{node.name, i});
        if (one >= readiness) continue;
        readiness = one;
        best = Slot{node.name, i};
      }
    }
  }
  return best;
}

// The health check before a spare is used: of its node, and of its own GPU.
bool Machine::CheckedWell(const Slot& slot, bool& waiting) {
  waiting = false;
  if (!spec_.spares().startup_check()) return true;
  if (IsStandby(s_.slots[slot]) && KnownWell(slot.node)) return true;
  const auto known = s_.repair.health.find(slot);
  if (known == s_.repair.health.end()) {
    s_.repair.health[slot] = OrderNodeCheck(s_.checks, slot.node, slot.local_rank);
  }
  const Health health = HealthOf(s_.repair.health[slot]);
  waiting = health == Health::kUnknown;
  if (health != Health::kSick) return health == Health::kWell;
  const CheckState check = s_.checks[s_.repair.health[slot]];
  s_.checks.erase(s_.repair.health[slot]);
  s_.repair.health.erase(slot);
  SpareIsSick(slot, "start-up check of a spare", check);
  return false;
}

// A sick GPU is its slot's alone; of a sick node no spare slot is of use.
void Machine::SpareIsSick(const Slot& slot, std::string_view which, const CheckState& check) {
  const std::string detail = check.done ? check.detail : "no answer";
  Log("self_checked", {{"bad", check.gpu_sick ? slot.Name() : slot.node}, {"detail", Cat(which, ": ", detail)}});
  if (check.gpu_sick) return Isolate(slot, Level::kGpu, detail);
  for (auto& [other, state] : s_.slots) {
    if (other.node == slot.node && state.service == Service::kSpare) Isolate(other, Level::kNode, detail);
  }
}

bool Machine::Claim(int rank) {
  while (const std::optional<Slot> slot = PickSpare()) {
    bool waiting = false;
    if (!CheckedWell(*slot, waiting)) {
      if (waiting) return false;
      continue;
    }
    if (policy_.Has(Defect::kSpareRace)) s_.repair.rendezvous_closed = true;  // PLANTED DEFECT
    SlotState& state = s_.slots[*slot];
    const bool standby = IsStandby(state);
    state.service = Service::kServing;
    s_.placement[rank] = *slot;
    s_.repair.replaced.insert(rank);
    s_.repair.awaiting_spare = false;
    const auto left = s_.repair.left.find(rank);
    LogLine line{"replaced",
                 {{"slot", slot->Name()},
                  {"rank", Cat(rank)},
                  {"instead_of", left == s_.repair.left.end() ? "-" : left->second}}};
    if (standby) line.values.emplace_back("by", "standby");
    actions_.push_back(std::move(line));
    actions_.push_back(Truth{"replaced", slot->Name(), rank, s_.progress_step});
    if (standby) {
      state.trainer.rank = rank;  // it hears so with the order to join
    } else {
      StartIn(*slot, rank);
    }
    return true;
  }
  if (!s_.repair.awaiting_spare) {
    s_.repair.awaiting_spare = true;
    Log("awaits_confirmation", {{"action", "add_spare"}, {"detail", Cat("no spare slot is free for rank ", rank)}});
  }
  return false;
}

void Machine::TendQuarantine() {
  for (auto& [slot, state] : s_.slots) {
    if (state.service != Service::kIsolated || state.trainer.Lives() || state.trainer.lingers) continue;
    if (!s_.nodes[slot.node].connected || !Past(state.isolated_at, spec_.spares().return_after())) continue;
    if (state.return_check == 0) {
      state.return_check = OrderNodeCheck(s_.checks, slot.node, slot.local_rank);
      continue;
    }
    const Health health = HealthOf(state.return_check);
    if (health == Health::kUnknown) continue;
    const CheckState check = s_.checks[state.return_check];
    s_.checks.erase(state.return_check);
    state.return_check = 0;
    state.isolated_at = now_;  // sick: the next look is as far off
    if (health == Health::kSick) {
      Log("kept_out", {{"slot", slot.Name()}, {"detail", check.done ? check.detail : "no answer"}});
      continue;
    }
    state.service = Service::kSpare;
    state.restarts.clear();
    Log("returned", {{"slot", slot.Name()}});
  }
}

}  // namespace triodrill::shadow::pipeline
