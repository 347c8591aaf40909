// SARIF 2.1.0, for whoever gathers findings in code review: a run for each drill, a result for each objective that did
// not pass, at its line of the drill's file. FAIL is of kind `fail` and level `error`; INCONCLUSIVE of kind `open`: it
// was asked, and there was too little to decide. Strings that others wrote are made harmless. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/render/reported.h"

namespace triodrill {

std::string Sarif(const std::vector<Reported>& runs);

}  // namespace triodrill
