// What became of the monitoring that the drill rests on. Pure.
#pragma once

#include <vector>

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"

namespace triodrill {

// monitoring_unchanged: a rule, a silence or a configuration that differs fails the drill, whoever changed it: what was
// measured is not what is there now. One that could not be compared decides nothing.
// monitoring_answered: a source that did not answer in a trial may have had something to say.
std::vector<Objective> JudgeMonitoring(const MonitoringFacts& facts);

}  // namespace triodrill
