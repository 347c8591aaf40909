// One page for people who would rather look: the verdict and what blocks it first, then the trio, each trial's timeline
// as a picture, and what the figures rest on. A file of its own: no script, nothing fetched, light and dark, and made
// for print, too. Strings that others wrote are escaped. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/evidence/timeline.h"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// One drill's run. The pointers outlive the call.
struct Reported {
  const v1::Plan* plan;
  const Timeline* timeline;
  const Trio* trio;
  const Verdict* verdict;
  std::string bundle;  // where its evidence is kept
};

// At least one. Of several, a table of all of them stands first.
std::string Html(const std::vector<Reported>& runs);

}  // namespace triodrill
