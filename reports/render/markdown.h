// report.md: a person's report. Its first line decides. Strings that others wrote (log lines, names) are escaped.
#pragma once

#include <string>

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

std::string Markdown(const v1::Plan& plan, const Trio& trio, const Verdict& verdict);

}  // namespace triodrill
