// From plan and facts to the exact bytes of the derived files. Pure: no clock, no chance, no disk.
#pragma once

#include <string>

#include "reports/evidence/bundle.h"
#include "reports/evidence/timeline.h"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct Derived {
  Trio trio;
  Verdict verdict;
  std::string trio_json;
  std::string verdict_json;
  std::string report_md;
};

Derived Derive(const v1::Plan& plan, const Timeline& timeline);
Derived Derive(const LoadedBundle& bundle);

// Writes the three derived files into the bundle.
Status WriteDerived(const Bundle& bundle, const Derived& derived);

}  // namespace triodrill
