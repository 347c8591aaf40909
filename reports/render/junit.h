// JUnit XML, as pages of CI systems read it: a suite for each drill's run, in it a case for the run itself (it
// finished, and all is undone) and one for each objective. FAIL is a failure, INCONCLUSIVE an error: neither passes for
// a pass. The run's case has the run's time; objectives are judged from facts and have none. Strings that others wrote
// are escaped. Pure.
//
// Written so that it is valid by both schemas in use, Apache Ant's (as Windy Road wrote it down) and Jenkins's.
#pragma once

#include <string>
#include <vector>

#include "reports/render/reported.h"

namespace triodrill {

std::string JUnit(const std::vector<Reported>& runs);

}  // namespace triodrill
