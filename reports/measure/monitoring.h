// Whether the monitoring was the same before the first trial and after the last, and whether it could be read in
// between. Pure.
#pragma once

#include "reports/evidence/timeline.h"
#include "reports/measure/trio.h"

namespace triodrill {

// `fingerprinted`: there is something of which fingerprints must have been taken.
MonitoringFacts MeasureMonitoring(const Timeline& timeline, bool fingerprinted = true);

}  // namespace triodrill
