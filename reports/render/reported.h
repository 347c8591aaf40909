// One drill's run, as reports of several want it.
#pragma once

#include <string>

#include "reports/evidence/timeline.h"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// The pointers outlive the call.
struct Reported {
  const v1::Plan* plan;
  const Timeline* timeline;
  const Trio* trio;
  const Verdict* verdict;
  std::string bundle;      // where its evidence is kept
  std::string drill_yaml;  // as it was given; "" if it is not known
};

}  // namespace triodrill
