#include "reports/evidence/verify_approvals.h"

#include <set>

#include "absl/strings/str_join.h"
#include "reports/measure/origin.h"
#include "reports/render/escape.h"
#include "triodrill/signed/approval.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// Of both together, whatever they are: what a forger wrote is no time, and no overflow either.
int64_t SecondsOf(int64_t began_ns, int64_t later_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  return began_ns / kSecond + later_ns / kSecond + (began_ns % kSecond + later_ns % kSecond) / kSecond;
}

// What the run says of its own time, and when the gate let a trial be fired.
struct RunTimes {
  std::string plan_digest;
  std::string runner;
  std::set<int64_t> permitted_s;  // CLOCK_REALTIME
};

RunTimes TimesOf(const Timeline& timeline) {
  RunTimes times;
  int64_t began_ns = 0;
  for (const v1::Fact& fact : timeline.facts) {
    if (fact.has_run_started()) {
      began_ns = fact.run_started().wall_ns();
      times.plan_digest = fact.run_started().plan_digest();
      times.runner = fact.run_started().operator_name();
    } else if (fact.has_gate() && fact.gate().permitted()) {
      times.permitted_s.insert(SecondsOf(began_ns, fact.at().earliest_ns()));
    }
  }
  return times;
}

std::string WaiverText(const Origin& origin) {
  std::vector<std::string> who;
  for (const Waiver& waiver : origin.waivers) who.push_back(Cat(PlainText(waiver.who), ": ", PlainText(waiver.reason)));
  return absl::StrJoin(who, "; ");
}

// At one instant: "" if every fault that needs it was approved.
std::string ProblemAt(int64_t at_s, const std::vector<v1::ApprovedFault>& faults,
                      const std::vector<std::string>& envelopes, const ApprovalRules& rules,
                      const std::string& plan_digest) {
  const CountedApprovals counted = CountApprovals(envelopes, rules, plan_digest, at_s);
  std::vector<std::string> problems = counted.problems;
  for (const v1::ApprovedFault& fault : faults) {
    if (std::string missing = Unapproved(fault, counted, rules); !missing.empty()) problems.push_back(missing);
  }
  return problems.empty() ? "" : Cat("at ", UtcText(at_s), ": ", absl::StrJoin(problems, "; "));
}

}  // namespace

std::optional<ProofStep> ApprovalStep(const v1::Plan& plan, const Timeline& timeline) {
  const Origin origin = MeasureOrigin(plan, timeline);
  const std::vector<v1::ApprovedFault> faults = FaultsToApprove(plan);
  if (faults.empty() && origin.approvals.empty()) return std::nullopt;
  const auto step = [](Proof proof, std::string text) { return ProofStep{"approvals", proof, std::move(text)}; };
  Result<ApprovalRules> rules = ApprovalRulesOf(plan.partition().spec());
  if (!rules.ok()) {
    return step(Proof::kRefuted, Cat("who may approve cannot be read: ", std::string(rules.status().message())));
  }
  if (!rules->waived.empty()) return step(Proof::kProved, Cat("none was asked for; waived by ", WaiverText(origin)));
  const RunTimes times = TimesOf(timeline);
  if (times.permitted_s.empty()) return step(Proof::kProved, "the gate let nothing be fired");
  rules->runner = times.runner;
  std::vector<std::string> envelopes;
  for (const v1::Fact& fact : timeline.facts) {
    if (!fact.has_approval()) continue;
    envelopes.push_back(fact.approval().envelope());
    const Result<v1::Approval> opened = OpenApproval(envelopes.back(), rules->approvers);
    if (opened.ok() && ApprovalStatement(*opened) != ApprovalStatement(fact.approval().approval())) {
      return step(Proof::kRefuted, "the timeline says otherwise than the approval that it holds");
    }
  }
  // It began to count before the first trial and may not have ended before the last.
  for (const int64_t at_s : {*times.permitted_s.begin(), *times.permitted_s.rbegin()}) {
    const std::string problem = ProblemAt(at_s, faults, envelopes, *rules, times.plan_digest);
    if (!problem.empty()) return step(Proof::kRefuted, problem);
  }
  const CountedApprovals counted = CountApprovals(envelopes, *rules, times.plan_digest, *times.permitted_s.begin());
  std::vector<std::string> who;
  for (const v1::Approval& one : counted.counted) who.push_back(Cat(one.approver(), " (key ", one.key_id(), ")"));
  return step(Proof::kProved, Cat("of this plan, at the run's time, by ", absl::StrJoin(who, ", "), "; wanted: ",
                                  rules->wanted, ". Whose keys these are, the plan's partition says: compare them"));
}

}  // namespace triodrill
