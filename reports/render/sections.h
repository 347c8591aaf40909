// What a report says, as plain unescaped text in rows: the Markdown and the terminal report show the same words and
// differ in how they are set and escaped. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct Row {
  std::string label;
  std::string text;
};

// "Trial 2, sham, not valid".
std::string TrialTitle(const TrialTrio& trial);
std::vector<Row> TrialRows(const TrialTrio& trial);
std::vector<Row> SummaryRows(const Trio& trio);

// "3 of 3 passed: supports P(pass) >= 0.368 at 95% confidence".
std::string AssuranceText(const Objective& objective);

// What the figures are good for: level, substitutions, environment, differences, floors, clock error.
std::vector<Row> ScopeRows(const v1::Plan& plan, const Trio& trio);
// Who ran it, where, when, with what.
std::vector<Row> RunRows(const v1::Plan& plan, const Trio& trio);

// One conclusion and what it rests on.
struct Evidence {
  std::string conclusion;
  std::string tool;    // and version
  std::string source;  // command, query or log path
  std::string window;
};
std::vector<Evidence> EvidenceRows(const v1::Plan& plan, const Trio& trio);

}  // namespace triodrill
