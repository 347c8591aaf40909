// The job's state against that of a run without a fault. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "reports/evidence/timeline.h"
#include "reports/measure/onset.h"
#include "reports/measure/trial_facts.h"
#include "reports/measure/trio.h"

namespace triodrill {

using StateReferences = std::map<std::pair<int64_t, std::string>, std::string>;  // hash by step and shard

StateReferences FindReferences(const Timeline& timeline);

// Sets `state` and `masked`. Needs the detection and the milestones. `tells_states`: the profile has a signal for them.
void MeasureState(const TrialFacts& facts, const Onset& onset, const StateReferences& references, bool tells_states,
                  TrialTrio& trial);

}  // namespace triodrill
