#include "reports/judge/monitoring.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/render/number.h"

namespace triodrill {
namespace {

constexpr size_t kShown = 5;

std::string FirstOf(std::vector<std::string> said) {
  const size_t more = said.size() - std::min(said.size(), kShown);
  said.resize(said.size() - more);
  return absl::StrCat(absl::StrJoin(said, "; "), more == 0 ? "" : absl::StrCat("; and ", more, " more"));
}

Objective Once(std::string name, std::string expected, Answer answer, std::string reason) {
  Objective objective;
  objective.name = std::move(name);
  objective.expected = std::move(expected);
  objective.answer = answer;
  objective.reason = std::move(reason);
  objective.n = 1;
  objective.passed = answer == Answer::kPass ? 1 : 0;
  return objective;
}

Objective Unchanged(const MonitoringFacts& facts) {
  const char* const expected = "rules, silences and configuration equal before and after";
  if (!facts.problem.empty()) return Once("monitoring_unchanged", expected, Answer::kInconclusive, facts.problem);
  if (!facts.changes.empty()) return Once("monitoring_unchanged", expected, Answer::kFail, FirstOf(facts.changes));
  return Once("monitoring_unchanged", expected, Answer::kPass,
              absl::StrCat(CountText(facts.parts, "part", "parts"), " equal"));
}

Objective Answered(const MonitoringFacts& facts) {
  const char* const expected = "every source answers while a trial runs";
  if (facts.gaps.empty()) return Once("monitoring_answered", expected, Answer::kPass, "no gap");
  return Once("monitoring_answered", expected, Answer::kInconclusive, FirstOf(facts.gaps));
}

}  // namespace

std::vector<Objective> JudgeMonitoring(const MonitoringFacts& facts) {
  if (!facts.fingerprinted) return {Answered(facts)};
  return {Unchanged(facts), Answered(facts)};
}

}  // namespace triodrill
