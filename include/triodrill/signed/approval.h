// Approvals: what a person signed over a plan's digest, and whether it counts. Pure; the coordinator's gate and each
// node's agent ask the same questions, each by the keys that it knows itself.
//
// On disk and on the wire an approval is one DSSE envelope over an in-toto statement, each in one form only: a byte
// that is not as it would be written again makes it unreadable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/signed/public_key.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/approval.pb.h"

namespace triodrill {

namespace v1 {
class AgentPolicySpec;
class Parameters;
class PartitionSpec;
class Plan;
class Shot;
}  // namespace v1

inline constexpr size_t kMostApprovalBytes = size_t{64} << 10;
inline constexpr size_t kMostApprovals = 8;
inline constexpr int kMostApprovedFaults = 256;
// The clock of whoever signed, of the coordinator and of the node may differ by so much.
inline constexpr int64_t kApprovalTolerance_s = 60;
inline constexpr int64_t kLongestApproval_s = int64_t{7} * 24 * 60 * 60;

struct ApproverKey {
  std::string name;
  PublicKey key;
};

// Whose approvals count, and of how many persons they must be.
struct ApprovalRules {
  std::vector<ApproverKey> approvers;
  int wanted = 1;
  std::string waived;  // why none is needed; "": they are
  std::string runner;  // not counted where two persons or more are wanted; "" where it is not known who runs it
};

// InvalidArgument names the approver whose key is none, and two who share a name or a key.
Result<ApprovalRules> ApprovalRulesOf(const v1::PartitionSpec& partition);
Result<ApprovalRules> ApprovalRulesOf(const v1::AgentPolicySpec& policy);

// What was read; where it could not be, the rules by which nobody may approve anything.
ApprovalRules RulesOrNone(Result<ApprovalRules> read);

// Whether a fault of that kind waits for an approval; of an unknown kind, yes.
bool NeedsApproval(std::string_view kind);

// A fault as an approval names it, on no node yet.
v1::ApprovedFault FaultToApprove(const std::string& id, const std::string& kind, const v1::Parameters& with,
                                 Nanos max_hold);

v1::ApprovedFault FaultOfShot(const v1::Shot& shot);

// The faults of a plan that need an approval, all alike shots of a fault as one; where the node of one is not known
// before the trial begins, without nodes.
std::vector<v1::ApprovedFault> FaultsToApprove(const v1::Plan& plan);

// Those that cannot be taken back and need none: they are named to whoever approves.
std::vector<v1::ApprovedFault> IrreversibleFaults(const v1::Plan& plan);

// What is signed, and the reverse: it refuses whatever ApprovalStatement would not have written, and times and numbers
// out of bounds.
std::string ApprovalStatement(const v1::Approval& approval);
Result<v1::Approval> ParseApprovalStatement(std::string_view statement);

// Reads an envelope and checks its signature: by the key, among those, that it names. Nothing of it is read before.
Result<v1::Approval> OpenApproval(std::string_view envelope, const std::vector<ApproverKey>& approvers);

struct CountedApprovals {
  std::vector<v1::Approval> counted;  // of different persons
  std::vector<std::string> problems;  // one line for each that is not
};
// `now_s` is nullopt where the clock cannot be read: then none counts.
CountedApprovals CountApprovals(std::span<const std::string> envelopes, const ApprovalRules& rules,
                                const std::string& plan_digest, std::optional<int64_t> now_s);

// Whether it is approved in this form, on these nodes and for so long.
bool NamesFault(const v1::Approval& approval, const v1::ApprovedFault& fault);

// "" if enough of them name this fault; else what is missing. Of its nodes there is one, or none where it is not known
// yet on which it will be.
std::string Unapproved(const v1::ApprovedFault& fault, const CountedApprovals& approvals, const ApprovalRules& rules);

// "2026-11-30T12:00:00Z"; the number itself where it is no time.
std::string UtcText(int64_t seconds);

}  // namespace triodrill
