// Who may approve, as a partition and a node's policy say it.
#include "triodrill/schema/catalogue.h"
#include "triodrill/signed/approval.h"
#include "triodrill/text.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {
namespace {

template <typename Spec>
Result<ApprovalRules> RulesOf(const Spec& spec) {
  ApprovalRules rules;
  rules.wanted = spec.approvals() > 0 ? spec.approvals() : 1;
  rules.waived = spec.waive_approvals();
  for (const v1::Approver& approver : spec.approvers()) {
    Result<PublicKey> key = PublicKey::Parse(approver.key());
    if (!key.ok()) {
      return absl::InvalidArgumentError(
          Cat("the key of approver `", approver.name(), "`: ", std::string(key.status().message())));
    }
    for (const ApproverKey& other : rules.approvers) {
      if (other.name != approver.name() && other.key.id() != key->id()) continue;
      return absl::InvalidArgumentError(
          Cat("approvers `", other.name, "` and `", approver.name(), "` share a name or a key; one entry a person"));
    }
    rules.approvers.push_back({approver.name(), *std::move(key)});
  }
  if (!rules.waived.empty() && (!rules.approvers.empty() || spec.approvals() > 0)) {
    return absl::InvalidArgumentError("approvals are waived and asked for; keep waive_approvals or the approvers");
  }
  if (rules.waived.empty() && spec.approvals() > static_cast<int>(rules.approvers.size())) {
    return absl::InvalidArgumentError(
        Cat(spec.approvals(), " approvals of ", rules.approvers.size(), " approvers; name more, or want fewer"));
  }
  return rules;
}

}  // namespace

Result<ApprovalRules> ApprovalRulesOf(const v1::PartitionSpec& partition) { return RulesOf(partition); }
Result<ApprovalRules> ApprovalRulesOf(const v1::AgentPolicySpec& policy) { return RulesOf(policy); }

ApprovalRules RulesOrNone(Result<ApprovalRules> read) { return read.ok() ? *std::move(read) : ApprovalRules{}; }

bool NeedsApproval(std::string_view kind) {
  const FaultRow* const row = FindFaultRow(kind);
  return row == nullptr || row->facts.tier() != v1::AUTO;
}

}  // namespace triodrill
