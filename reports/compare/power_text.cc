#include "reports/compare/power_text.h"

#include "absl/strings/str_format.h"
#include "reports/render/number.h"
#include "reports/stats/power.h"
#include "reports/stats/stats.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kShares[] = {0.50, 0.80, 0.90, 0.95, 0.99};
constexpr double kSpreads[] = {0.01, 0.02, 0.05, 0.10, 0.20};

std::string Cell(const std::optional<int>& n) { return n ? absl::StrFormat("%8d", *n) : std::string("    none"); }

}  // namespace

std::string PowerText(int faulted, int sham, const CompareOptions& options) {
  std::string text = Cat("Planned: ", CountText(faulted, "faulted trial", "faulted trials"), " and ",
                         CountText(sham, "sham trial", "sham trials"), ".\n");
  Append(text, "If all pass, each objective is supported with P(pass) >= ", RatioText(Assurance(faulted)), " at ",
         PercentText(kConfidence), " confidence");
  if (sham > 0) Append(text, ", and P(no false alarm in a trial) >= ", RatioText(Assurance(sham)));
  text += ".\n\nFaulted trials that support more, at the same confidence:\n  P(pass) >=           ";
  for (const double share : kShares) text += absl::StrFormat("%8s", PercentText(share));
  text += "\n  all pass             ";
  for (const double share : kShares) text += Cell(TrialsForShare(share, kConfidence));
  text += "\n  all but one pass     ";
  for (const double share : kShares) text += Cell(TrialsForShare(share, kConfidence, 1));
  text += "\n  they all pass, if each does with 99%, in so many of a hundred runs\n                       ";
  for (const double share : kShares) {
    const std::optional<int> n = TrialsForShare(share, kConfidence);
    text += absl::StrFormat("%8.0f", n ? ChanceThatAllPass(*n, 0.99) * 100 : 0.0);
  }
  Append(text, "\n\nA median has an interval from ", *TrialsForMedian(kConfidence),
         " trials on; the greatest value bounds the 90th percentile from ", *TrialsForUpperLimit(0.9, kConfidence),
         " on.\n");
  Append(text, "\n`compare --max-regression ", PercentText(options.max_regression),
         "`: trials on each side to see, in ", PercentText(options.power),
         " of cases,\nthat an unchanged pipeline is no worse (one-sided tests at ", PercentText(options.alpha),
         "):\n  the times vary by    ");
  for (const double spread : kSpreads) text += absl::StrFormat("%8s", PercentText(spread));
  text += "\n  trials on each side  ";
  for (const double spread : kSpreads) {
    text += Cell(TrialsToCompare(ShareBeyondAt(1 + options.max_regression, spread), options.alpha, options.power));
  }
  Append(text, "\nFewer than ", FewestToDecide(options.alpha), " on each side decide nothing, whatever they show.\n");
  return text;
}

}  // namespace triodrill
