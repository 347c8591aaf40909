// From plan and facts to the trio. Pure. The rules, with what they leave out, stand in reports/README.md.
#pragma once

#include "reports/evidence/timeline.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

Trio Measure(const v1::Plan& plan, const Timeline& timeline);

}  // namespace triodrill
