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

// Spare nodes first, then slots that came back from quarantine.
std::optional<Slot> Machine::PickSpare() {
  for (const bool spare_node : {true, false}) {
    for (const TopologyNode& node : config_.topology.nodes) {
      if (node.spare != spare_node || !s_.nodes[node.name].connected) continue;
      for (int i = 0; i < node.slots; ++i) {
        const SlotState& state = s_.slots[Slot{node.name, i}];
        if (state.service == Service::kSpare && !state.trainer.Lives()) return Slot{node.name, i};
      }
    }
  }
  return std::nullopt;
}

bool Machine::Claim(int rank) {
  while (const std::optional<Slot> slot = PickSpare()) {
    if (spec_.spares().startup_check()) {
      const auto known = s_.repair.health.find(slot->node);
      if (known == s_.repair.health.end()) {
        s_.repair.health[slot->node] = OrderNodeCheck(s_.checks, slot->node);
        return false;
      }
      const Health health = HealthOf(known->second);
      if (health == Health::kUnknown) return false;
      if (health == Health::kSick) {
        const std::string detail = s_.checks[known->second].done ? s_.checks[known->second].detail : "no answer";
        Log("self_checked", {{"bad", slot->node}, {"detail", Cat("start-up check of a spare: ", detail)}});
        s_.repair.health.erase(known);
        for (auto& [other, state] : s_.slots) {
          if (other.node == slot->node && state.service == Service::kSpare) Isolate(other, Level::kNode, detail);
        }
        continue;
      }
    }
    if (policy_.Has(Defect::kSpareRace)) s_.repair.rendezvous_closed = true;  // PLANTED DEFECT
    s_.slots[*slot].service = Service::kServing;
    s_.placement[rank] = *slot;
    s_.repair.replaced.insert(rank);
    s_.repair.awaiting_spare = false;
    const auto left = s_.repair.left.find(rank);
    Log("replaced", {{"slot", slot->Name()},
                     {"rank", Cat(rank)},
                     {"instead_of", left == s_.repair.left.end() ? "-" : left->second}});
    actions_.push_back(Truth{"replaced", slot->Name(), rank, s_.progress_step});
    StartIn(*slot, rank);
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
