// Whether the monitoring was the same before the first trial and after the last, and whether it could be read in
// between. Pure.
#pragma once

#include "reports/evidence/timeline.h"
#include "reports/measure/trio.h"

namespace triodrill {

MonitoringFacts MeasureMonitoring(const Timeline& timeline);

}  // namespace triodrill
