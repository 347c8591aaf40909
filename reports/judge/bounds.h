// One measured thing against one bound. Pure.
#pragma once

#include <optional>
#include <string>

#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"

namespace triodrill {

struct Judged {
  Answer answer = Answer::kInconclusive;
  std::string reason;
};

// Passes if certainly within the bound, fails if certainly beyond it: an interval that straddles it, or a value that
// was only watched for less than it, decides nothing.
Judged JudgeDelay(const Delay& delay, Nanos bound);

Judged JudgeLevel(v1::Domain level, v1::Domain at_most);

Judged JudgeCount(int64_t count, int64_t max, const char* one, const char* many);

// ">= 1", "> 0.5", "<= 3", "< 2", "== 1". Inconclusive if it is not a comparison.
Judged JudgeShare(double share, const std::string& comparison);

}  // namespace triodrill
