#include "reports/measure/state_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace triodrill {
namespace {

StateCheck Compare(const TrialFacts& facts, TimePoint from, const StateReferences& references) {
  StateCheck check;
  check.answer = StateAnswer::kNotSeen;
  for (const v1::Fact* fact : facts.signals) {
    const v1::SignalSeen& said = fact->signal();
    if (said.means() != v1::STATE || InstantOf(*fact).earliest < from) continue;
    const auto reference = references.find({said.step(), said.shard()});
    if (reference == references.end()) {
      if (check.answer == StateAnswer::kNotSeen) check.answer = StateAnswer::kNoReference;
      continue;
    }
    ++check.compared;
    if (check.answer == StateAnswer::kDifferent) continue;
    check.answer = reference->second == said.hash() ? StateAnswer::kEqual : StateAnswer::kDifferent;
    if (check.answer == StateAnswer::kDifferent) {
      check.first_different =
          absl::StrCat("step ", said.step(), said.shard().empty() ? "" : absl::StrCat(", shard ", said.shard()));
    }
  }
  return check;
}

bool ChangesATensor(const FaultedTarget& target) { return target.kind.starts_with("tensor."); }

}  // namespace

StateReferences FindReferences(const Timeline& timeline) {
  StateReferences references;
  for (const v1::Fact& fact : timeline.facts) {
    if (!fact.has_state_reference()) continue;
    const v1::StateReference& said = fact.state_reference();
    references[{said.step(), said.shard()}] = said.hash();
  }
  return references;
}

void MeasureState(const TrialFacts& facts, const Onset& onset, const StateReferences& references, bool tells_states,
                  TrialTrio& trial) {
  if (!tells_states) return;
  const TimePoint recovered =
      trial.milestones.steady ? onset.t0.earliest + trial.milestones.steady->min : onset.t0.latest;
  trial.state = Compare(facts, recovered, references);
  const bool only_tensors =
      !trial.targets.empty() && std::all_of(trial.targets.begin(), trial.targets.end(), ChangesATensor);
  trial.masked =
      only_tensors && trial.reports == 0 && Compare(facts, onset.t0.latest, references).answer == StateAnswer::kEqual;
}

}  // namespace triodrill
