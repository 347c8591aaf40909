// What was broken in one trial, from when until when, and whether it was taken back. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/measure/topology.h"
#include "reports/measure/trial_facts.h"
#include "reports/measure/trio.h"

namespace triodrill {

struct Onset {
  Instant t0{};
  TimePoint began{};  // the earliest at which anything of the fault can have happened
  SlotSet faulted;    // F
  std::vector<FaultedTarget> targets;
  std::optional<Instant> withdrawn;  // the last fault that could be withdrawn was seen gone
  // Every fault was held until it be isolated, and the last of them is gone: what is reported later is not credited.
  std::optional<Instant> credit_ends;
  // A fault was taken back by us although the pipeline had not isolated it: what comes later is not its recovery.
  std::optional<Instant> forced;
  std::vector<Instant> barriers;  // withdrawals that a steady window may not straddle
};

// nullopt if nothing was seen to land.
std::optional<Onset> FindOnset(const TrialFacts& facts, const Topology& topology);

// Sets undo and open_undos.
void MeasureUndo(const TrialFacts& facts, TrialTrio& trial);
// nullopt if the shot owes nothing, or what it owed was confirmed.
std::optional<OpenUndo> OpenUndoOf(const ShotFacts& shot, bool sham);

}  // namespace triodrill
