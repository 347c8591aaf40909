#include "coordinator/gate/approvals.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "triodrill/text.h"

namespace triodrill::gate {
namespace {

constexpr char kNext[] = "`triodrill plan DRILL --out PLAN`, then `triodrill approve PLAN --key KEY --as NAME`";

std::string Names(const std::vector<v1::Approval>& approvals) {
  return absl::StrJoin(approvals, ", ", [](std::string* text, const v1::Approval& one) {
    Append(*text, one.approver(), " until ", UtcText(one.expires_s()));
  });
}

std::string Kinds(const std::vector<v1::ApprovedFault>& faults) {
  std::set<std::string> kinds;
  for (const v1::ApprovedFault& fault : faults) kinds.insert(fault.kind());
  return absl::StrJoin(kinds, ", ");
}

v1::Check Answer(const std::string& name, const std::vector<std::string>& problems, const std::string& saw,
                 const std::string& hint) {
  v1::Check check;
  check.set_name(name);
  check.set_passed(problems.empty());
  check.set_saw(problems.empty() ? saw : absl::StrJoin(problems, "; "));
  if (!problems.empty()) check.set_hint(hint);
  return check;
}

// Why the node, by what it said, would refuse the fault; "" if it would not.
std::string NodeRefusal(const v1::Hello& hello, const v1::ApprovedFault& fault, const CountedApprovals& given) {
  if (!hello.approvals_waived().empty()) return "";
  const std::set<std::string> keys(hello.approver_keys().begin(), hello.approver_keys().end());
  const int wanted = std::max(1, hello.approvals());
  const auto persons = std::count_if(given.counted.begin(), given.counted.end(), [&](const v1::Approval& approval) {
    return keys.contains(approval.key_id()) && NamesFault(approval, fault);
  });
  if (persons >= wanted) return "";
  return Cat("its own policy wants ", wanted, wanted == 1 ? " approval" : " approvals", " of ", fault.kind(),
             " by keys that it knows, and of these there are ", persons);
}

}  // namespace

ApprovalRules RulesOf(const v1::Plan& plan, const std::string& runner) {
  ApprovalRules rules = RulesOrNone(ApprovalRulesOf(plan.partition().spec()));
  rules.runner = runner;
  return rules;
}

ApprovalAnswer ApprovalOf(const v1::Plan& plan, const std::string& plan_digest, const Approvals& given) {
  const ApprovalRules rules = RulesOf(plan, given.runner);
  CountedApprovals counted = CountApprovals(given.envelopes, rules, plan_digest, given.now_s);
  ApprovalAnswer answer{std::move(counted.counted), std::move(counted.problems), ""};
  const std::vector<v1::ApprovedFault> faults = FaultsToApprove(plan);
  const CountedApprovals good{answer.counted, {}};
  for (const v1::ApprovedFault& fault : faults) {
    if (std::string missing = Unapproved(fault, good, rules); !missing.empty()) {
      answer.problems.push_back(std::move(missing));
    }
  }
  const std::string kinds = Kinds(faults);
  if (faults.empty()) {
    answer.saw = "every fault is of tier auto";
  } else if (!rules.waived.empty()) {
    answer.saw = Cat("of tier confirm: ", kinds, "; the partition waives approvals: ", rules.waived);
  } else {
    answer.saw = Cat("of tier confirm: ", kinds, "; approved by ", Names(answer.counted));
  }
  return answer;
}

v1::Check MayBeApproved(const v1::Plan& plan) {
  const ApprovalRules rules = RulesOf(plan, "");
  const std::string kinds = Kinds(FaultsToApprove(plan));
  std::vector<std::string> names;
  for (const ApproverKey& approver : rules.approvers) names.push_back(approver.name);
  std::string saw = kinds.empty() ? "every fault is of tier auto" : Cat("of tier confirm: ", kinds);
  std::vector<std::string> problems;
  if (!kinds.empty() && !rules.waived.empty()) {
    Append(saw, "; the partition waives approvals: ", rules.waived);
  } else if (!kinds.empty() && names.empty()) {
    problems.push_back(saw + "; nobody is named who may approve it");
  } else if (!kinds.empty()) {
    Append(saw, "; wanted: ", rules.wanted, " of ", absl::StrJoin(names, ", "));
  }
  return Answer("tier_may_be_approved", problems, saw, "name `approvers` in the partition and in each node's policy");
}

v1::Check TierApproved(const v1::Plan& plan, const std::string& plan_digest, const Approvals& given) {
  const ApprovalAnswer answer = ApprovalOf(plan, plan_digest, given);
  return Answer("tier_is_approved", answer.problems, answer.saw, kNext);
}

v1::Check NodesAccept(const v1::Plan& plan, const v1::PlannedTrial& trial, const std::string& plan_digest,
                      const Approvals& given, const std::map<std::string, std::optional<v1::Hello>>& nodes) {
  CountedApprovals counted = CountApprovals(given.envelopes, RulesOf(plan, given.runner), plan_digest, given.now_s);
  std::vector<std::string> problems;
  std::set<std::string> waived;
  bool any = false;
  for (const v1::Shot& shot : trial.shots()) {
    if (!NeedsApproval(shot.kind())) continue;
    any = true;
    for (const v1::Node& node : plan.partition().spec().nodes()) {
      if (shot.rank() < 0 && shot.node() != node.name()) continue;
      const auto sight = nodes.find(node.name());
      if (sight == nodes.end() || !sight->second) {
        problems.push_back(Cat(node.name(), ": what its policy says of approvals could not be seen"));
        continue;
      }
      v1::ApprovedFault fault = FaultOfShot(shot);
      if (fault.nodes().empty()) fault.add_nodes(node.name());
      const std::string refusal = NodeRefusal(*sight->second, fault, counted);
      if (!refusal.empty()) problems.push_back(Cat(node.name(), ": ", refusal));
      if (!sight->second->approvals_waived().empty()) waived.insert(sight->second->approvals_waived());
    }
  }
  std::string saw = any ? "every node that may be hit accepts them" : "nothing in this trial waits for an approval";
  if (!waived.empty()) saw = Cat("nodes' own policies waive approvals: ", absl::StrJoin(waived, "; "));
  return Answer("nodes_accept_approvals", problems, saw,
                "approvals must be by keys in each node's own policy; it is not overruled from here");
}

}  // namespace triodrill::gate
