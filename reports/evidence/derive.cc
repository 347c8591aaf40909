#include "reports/evidence/derive.h"

#include "reports/judge/judge.h"
#include "reports/measure/measure.h"
#include "reports/render/markdown.h"
#include "reports/render/trio_json.h"
#include "reports/render/verdict_json.h"

namespace triodrill {

Derived Derive(const v1::Plan& plan, const Timeline& timeline) {
  Derived derived;
  derived.trio = Measure(plan, timeline);
  derived.verdict = Judge(plan, derived.trio);
  derived.trio_json = TrioJson(derived.trio);
  derived.verdict_json = VerdictJson(derived.verdict);
  derived.report_md = Markdown(plan, derived.trio, derived.verdict);
  return derived;
}

Derived Derive(const LoadedBundle& bundle) { return Derive(bundle.plan, bundle.timeline); }

Status WriteDerived(const Bundle& bundle, const Derived& derived) {
  TRIODRILL_RETURN_IF_ERROR(bundle.WriteFile(kTrioFile, derived.trio_json));
  TRIODRILL_RETURN_IF_ERROR(bundle.WriteFile(kVerdictFile, derived.verdict_json));
  return bundle.WriteFile(kReportFile, derived.report_md);
}

}  // namespace triodrill
