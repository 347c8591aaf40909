// From the trio to the verdict. Pure. The rules stand in reports/README.md.
#pragma once

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

Verdict Judge(const v1::Plan& plan, const Trio& trio);

}  // namespace triodrill
