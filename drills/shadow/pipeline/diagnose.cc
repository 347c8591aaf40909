// From what was found to what is taken out of service: the smallest level that is enough.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

// Of a driver's line about it (XID 79), which a process repeats as it dies.
constexpr std::string_view kGpuLostWords = "fallen off the bus";

}  // namespace

std::string_view NameOf(Level level) {
  constexpr std::string_view kNames[] = {"process", "gpu", "node", "group", "job"};
  return kNames[static_cast<size_t>(level)];
}

Level Machine::LevelFor(const Finding& finding) {
  if (finding.node.empty()) return Level::kProcess;
  if (finding.rank < 0) return Level::kNode;
  if (finding.fault != Fault::kDead) return Level::kGpu;
  if (policy_.Has(Defect::kNoBounds)) return Level::kProcess;  // PLANTED DEFECT
  // No process lives without it: one that is started again on it dies again.
  if (TrainerOf(finding.rank).error_line.find(kGpuLostWords) != std::string::npos) return Level::kGpu;
  if (WarmTakesOver()) return Level::kGpu;
  std::deque<TimePoint>& restarts = s_.slots[s_.placement[finding.rank]].restarts;
  while (!restarts.empty() && Past(restarts.front(), spec_.isolation().restart_window())) restarts.pop_front();
  const bool left = static_cast<int>(restarts.size()) < spec_.isolation().restarts_in_place();
  return left ? Level::kProcess : Level::kGpu;
}

void Machine::Diagnose(const Finding& finding, std::optional<Level> level, std::string group) {
  const bool taken_over = finding.rank >= 0 && finding.fault == Fault::kDead && WarmTakesOver();
  Verdict verdict{finding, level ? *level : LevelFor(finding), std::move(group)};
  if (policy_.Has(Defect::kWrongNode) && finding.rank >= 0) {  // PLANTED DEFECT
    Kill(s_.placement[finding.rank]);
    TrainerOf(finding.rank).killed = true;  // dealt with, it thinks: the process is started again where it was
    const Slot wrong = Neighbour(s_.placement[finding.rank]);
    verdict.finding.rank = RankAt(wrong);
    verdict.finding.node = wrong.node;
    verdict.level = Level::kGpu;
  }
  const bool named = !verdict.finding.node.empty();
  std::string cause(NameOf(finding.fault));
  if (verdict.level == Level::kProcess && named) {
    Append(cause, ": restart in place, the slot is not to blame yet");
  } else if (named && taken_over) {
    Append(cause, ": a warm spare takes over, the slot is looked at meanwhile");
  } else if (named) {
    Append(cause, ": the smallest level that is enough is ", NameOf(verdict.level));
  } else {
    Append(cause, ": nobody is named; back to a state that is known to be good");
  }
  Log("diagnosed", {{"slot", verdict.finding.rank >= 0 ? s_.placement[verdict.finding.rank].Name() : "-"},
                    {"node", named ? verdict.finding.node : "-"},
                    {"cause", cause}});
  if (finding.fault == Fault::kSdc) {
    s_.repair.rollback_only = true;
    Ledger(finding, named ? Cat("isolated at level ", NameOf(verdict.level), ", rolled back to a verified checkpoint")
                          : "nobody named: rolled back to a verified checkpoint");
  }
  s_.repair.open = true;
  s_.repair.confirmed = false;
  s_.repair.verdicts.push_back(std::move(verdict));
}

void Machine::Ledger(const Finding& finding, std::string_view disposition) {
  const std::string slot = finding.rank >= 0 ? s_.placement[finding.rank].Name() : "";
  int frequency = 0;
  if (finding.rank >= 0) frequency = ++s_.slots[s_.placement[finding.rank]].suspects;
  const int64_t step = s_.suspicion ? s_.suspicion->step : s_.progress_step + 1;
  Log("sdc_ledger", {{"slot", slot.empty() ? "-" : slot},
                     {"rank", slot.empty() ? "-" : Cat(finding.rank)},
                     {"step", Cat(step)},
                     {"check", finding.by},
                     {"frequency", Cat(frequency)},
                     {"disposition", std::string(disposition)}});
  if (!spec_.sdc().ledger()) return;
  std::vector<std::string> retests = {
      Cat("fleet-wide: every slot recomputes step ", step, " from the checkpoint before it; compare bit by bit")};
  if (!slot.empty()) {
    retests.push_back(
        Cat("co-located: ", slot, " and the other slots of ", finding.node, " recompute step ", step, " side by side"));
  }
  actions_.push_back(LedgerEntry{slot, finding.rank, step, s_.epoch, finding.by, finding.detail, frequency,
                                 std::string(disposition), retests});
}

std::string Machine::Unconfirmed() const {
  const v1::ShadowTiers& tiers = spec_.tiers();
  const v1::Tier by_level[] = {tiers.restart_in_place(), tiers.isolate_gpu(), tiers.isolate_node(),
                               tiers.isolate_group(), tiers.isolate_job()};
  std::set<std::string> actions;
  for (const Verdict& verdict : s_.repair.verdicts) {
    const bool named = !verdict.finding.node.empty();
    if (named && by_level[static_cast<size_t>(verdict.level)] == v1::CONFIRM) {
      actions.insert(verdict.level == Level::kProcess ? "restart_in_place" : Cat("isolate_", NameOf(verdict.level)));
    }
    if (verdict.finding.fault == Fault::kSdc && tiers.rollback() == v1::CONFIRM) actions.insert("rollback");
  }
  return absl::StrJoin(actions, ",");
}

Slot Machine::Neighbour(const Slot& slot) const {
  std::vector<std::string> nodes;
  for (const Slot& placed : s_.placement) {
    if (nodes.empty() || nodes.back() != placed.node) nodes.push_back(placed.node);
  }
  const auto at = std::find(nodes.begin(), nodes.end(), slot.node);
  if (at == nodes.end()) return slot;
  const auto next = at + 1 == nodes.end() ? nodes.begin() : at + 1;
  const Slot neighbour{*next, slot.local_rank};
  return RankAt(neighbour) >= 0 ? neighbour : slot;
}

std::vector<Slot> Machine::SlotsOf(const Verdict& verdict) const {
  std::vector<Slot> slots;
  if (verdict.level == Level::kGpu && verdict.finding.rank >= 0) {
    slots.push_back(s_.placement[verdict.finding.rank]);
    if (policy_.Has(Defect::kOverEvict)) {  // PLANTED DEFECT
      for (const int rank : config_.topology.DataParallelGroup(verdict.finding.rank)) {
        if (rank != verdict.finding.rank) slots.push_back(s_.placement[rank]);
      }
    }
    return slots;
  }
  for (const auto& [slot, state] : s_.slots) {
    const bool in_node = verdict.level == Level::kNode && slot.node == verdict.finding.node;
    const bool in_job = verdict.level == Level::kJob && state.service == Service::kServing;
    const bool in_group = verdict.level == Level::kGroup &&
                          std::any_of(config_.topology.groups.begin(), config_.topology.groups.end(),
                                      [&, &at = slot](const ParallelGroup& group) {
                                        return group.name == verdict.group && group.members.contains(at);
                                      });
    if (in_node || in_job || in_group) slots.push_back(slot);
  }
  return slots;
}

void Machine::Isolate(const Slot& slot, Level level, std::string_view detail) {
  const auto found = s_.slots.find(slot);
  if (found == s_.slots.end() || found->second.service == Service::kIsolated) return;
  SlotState& state = found->second;
  const int rank = RankAt(slot);
  const bool served = state.service == Service::kServing;
  if (policy_.Has(Defect::kSameNodeAgain) && served) return Kill(slot);  // PLANTED DEFECT
  Kill(slot);
  state.service = Service::kIsolated;
  state.isolated_at = now_;
  state.return_check = 0;
  if (!served) return;  // a spare is in nobody's service; the self-check's line has named its node
  if (rank >= 0) {
    s_.repair.left[rank] = slot.Name();
    s_.placement[rank] = Slot{};
  }
  Log("isolated", {{"slot", slot.Name()}, {"level", std::string(NameOf(level))}, {"detail", std::string(detail)}});
  actions_.push_back(Truth{"isolated", slot.Name(), rank, s_.progress_step});
}

void Machine::CarryOut() {
  const std::vector<Verdict> verdicts = std::move(s_.repair.verdicts);
  s_.repair.verdicts.clear();
  OpenCase();
  if (s_.stage == Stage::kGaveUp) return;
  s_.repair.wait_set = false;
  bool whole_job = false;
  for (const Verdict& verdict : verdicts) {
    const int rank = verdict.finding.rank;
    whole_job = whole_job || verdict.level == Level::kJob;
    if (verdict.level == Level::kProcess) {
      if (rank < 0) continue;  // names nobody: only the state goes back
      s_.slots[s_.placement[rank]].restarts.push_back(now_);
      s_.repair.restarted = s_.placement[rank];
      Kill(s_.placement[rank]);
      continue;
    }
    std::set<std::string> nodes;
    for (const Slot& slot : SlotsOf(verdict)) {
      Isolate(slot, verdict.level, Cat(NameOf(verdict.finding.fault), ": ", verdict.finding.detail));
      nodes.insert(slot.node);
    }
    for (const std::string& node : nodes) {
      const auto isolated = std::count_if(s_.slots.begin(), s_.slots.end(), [&](const auto& entry) {
        return entry.first.node == node && entry.second.service == Service::kIsolated;
      });
      if (isolated < spec_.isolation().slots_for_node()) continue;
      for (const auto& [slot, state] : s_.slots) {
        if (slot.node == node) Isolate(slot, Level::kNode, Cat(isolated, " slots of ", node, " are out of service"));
      }
    }
  }
  if (whole_job) return GiveUp("the whole job is isolated: nothing smaller held the fault");
  if (policy_.Has(Defect::kGlobalRestart)) {  // PLANTED DEFECT
    for (const Slot& slot : s_.placement) {
      if (!slot.node.empty()) Kill(slot);
    }
  }
  HaltAll();
  Enter(Stage::kKill);
}

}  // namespace triodrill::shadow::pipeline
