// Why a fault is not prepared or not armed here: what the agent's state and the node's own policy do not allow.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "injectors/agent/core.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

// Far more than a run needs; a coordinator that asks for more is mistaken.
constexpr size_t kMostShots = 4096;

}  // namespace

std::string Core::PolicyRefusal(const v1::AimedFault& fault) const {
  const auto& policy = settings_.policy;
  const auto contains = [](const auto& list, const std::string& what) {
    return std::find(list.begin(), list.end(), what) != list.end();
  };
  if (!policy.shadow()) return "this node's policy does not say that it is of a shadow partition";
  if (!contains(policy.faults(), fault.kind())) return "this node's policy does not allow " + fault.kind();
  if (ToNanos(policy.max_hold()) <= Nanos(0)) return "this node's policy allows no fault any time";
  const std::string& interface = fault.target().link().name();
  if (fault.target().has_link() && (interface == "lo" || contains(policy.protect_interfaces(), interface))) {
    return "this node's policy protects the interface " + interface;
  }
  return "";
}

std::string Core::Refusal(const v1::Prepare& prepare, std::optional<int64_t> wall_s) const {
  const v1::AimedFault& fault = prepare.fault();
  if (shutting_down_) return "the agent is shutting down";
  if (lease_ <= Nanos(0)) return lease_refusal_.empty() ? "no run is under way here" : lease_refusal_;
  if (!IsShotName(fault.shot())) return "its name is not plain letters, digits, '.', '-' and '_'";
  if (fault.run_id() != run_id_) return "it is of run " + fault.run_id() + ", and this is run " + run_id_;
  if (shots_.size() >= kMostShots) return "too many shots in one run";
  if (!unreadable_.empty()) {
    return "the undo record " + unreadable_.front().resource() + " cannot be read; next: triodrill-undo --list";
  }
  if (FindFaultRow(fault.kind()) == nullptr) return "this agent knows no fault " + fault.kind();
  if (KindOf(fault.with()) != fault.kind()) return "its parameters are not those of " + fault.kind();
  if (std::string refusal = PolicyRefusal(fault); !refusal.empty()) return refusal;
  return ApprovalRefusal(prepare, wall_s);
}

std::string Core::ApprovalRefusal(const v1::Prepare& prepare, std::optional<int64_t> wall_s) const {
  const v1::AimedFault& fault = prepare.fault();
  if (!NeedsApproval(fault.kind()) || !approvals_.waived.empty()) return "";
  const CountedApprovals given =
      CountApprovals(std::vector<std::string>(prepare.approvals().begin(), prepare.approvals().end()), approvals_,
                     prepare.plan_digest(), wall_s);
  v1::ApprovedFault asked =
      FaultToApprove(prepare.fault_id(), fault.kind(), fault.with(), Nanos(prepare.max_hold_ns()));
  asked.add_nodes(settings_.node);
  std::string refusal = Unapproved(asked, given, approvals_);
  if (refusal.empty()) return "";
  if (!given.problems.empty()) Append(refusal, " (", absl::StrJoin(given.problems, "; "), ")");
  return Cat("this node's policy: ", refusal);
}

}  // namespace triodrill::agent
