// One drill's result as it is printed on a terminal. The first line decides.
#pragma once

#include <string>

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct TerminalStyle {
  bool colour = false;  // ANSI colours
};

// `bundle` is the directory that holds the evidence; "" where none is kept.
std::string TerminalReport(const v1::Plan& plan, const Trio& trio, const Verdict& verdict, const std::string& bundle,
                           TerminalStyle style);

}  // namespace triodrill
