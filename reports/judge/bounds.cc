#include "reports/judge/bounds.h"

#include "absl/strings/str_cat.h"
#include "reports/render/number.h"
#include "triodrill/schema/units.h"

namespace triodrill {
Judged JudgeDelay(const Delay& delay, Nanos bound) {
  if (delay.censored()) {
    const std::string waited = absl::StrCat("not within ", SecondsText(delay.censored_at), ": ", delay.why_censored);
    if (delay.censored_at >= bound) return {Answer::kFail, waited};
    return {Answer::kInconclusive, absl::StrCat(waited, ", which is too soon to tell")};
  }
  if (delay.seen->max <= bound) return {Answer::kPass, SpanText(*delay.seen)};
  if (delay.seen->min > bound) return {Answer::kFail, SpanText(*delay.seen)};
  return {Answer::kInconclusive, absl::StrCat(SpanText(*delay.seen), " straddles the bound")};
}

Judged JudgeLevel(v1::Domain level, v1::Domain at_most) {
  return {level <= at_most ? Answer::kPass : Answer::kFail, Name(level)};
}

Judged JudgeCount(int64_t count, int64_t max, const char* one, const char* many) {
  return {count <= max ? Answer::kPass : Answer::kFail, CountText(count, one, many)};
}

Judged JudgeShare(double share, const std::string& comparison) {
  const Result<Comparison> asked = ParseComparison(comparison);
  if (!asked.ok()) return {Answer::kInconclusive, absl::StrCat("\"", comparison, "\" is not a comparison")};
  return {asked->Holds(share) ? Answer::kPass : Answer::kFail, RatioText(share)};
}

}  // namespace triodrill
