// When the job was as before, who was interrupted until then, and who is out of service since. Pure.
#pragma once

#include "reports/measure/onset.h"
#include "reports/measure/progress.h"
#include "reports/measure/topology.h"
#include "reports/measure/trial_facts.h"
#include "reports/measure/trio.h"

namespace triodrill {

// Sets high_water_step, recovery, steady_after_withdrawal, interruption, isolation, not_interrupted, capacity,
// serving_after, the steps lost and their milestones. Needs the baseline, `observed` and `members`.
void MeasureRecovery(const TrialFacts& facts, const Onset& onset, const Topology& topology, double theta,
                     Nanos deadline, TrialTrio& trial);

// Slots that served in the baseline, and those with a live rank process at t0.
SlotSet MembersOfJob(const TrialFacts& facts, const Onset& onset);

}  // namespace triodrill
