// Which faults of a plan wait for an approval, and whether they have it. Pure. What is refused here is refused once
// more by each node, by its own policy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "triodrill/signed/approval.h"
#include "triodrill/v1/fleet.pb.h"
#include "triodrill/v1/plan.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::gate {

// What was shown to the gate.
struct Approvals {
  std::vector<std::string> envelopes;  // as they were given
  std::optional<int64_t> now_s;        // CLOCK_REALTIME; nullopt: it cannot be read, and nothing is approved
  std::string runner;                  // login of who runs the drill
};

// What the partition says of approvals; where that cannot be read, nobody may approve anything.
ApprovalRules RulesOf(const v1::Plan& plan, const std::string& runner);

struct ApprovalAnswer {
  std::vector<v1::Approval> counted;
  std::vector<std::string> problems;  // one line each; none: the plan may be fired
  std::string saw;                    // in one line, if there is no problem
};
ApprovalAnswer ApprovalOf(const v1::Plan& plan, const std::string& plan_digest, const Approvals& given);

// Beforehand: whether there is anybody who could approve what needs it.
v1::Check MayBeApproved(const v1::Plan& plan);

// As checks of the gate: by the partition's rules, and by what each node's agent said of its own.
v1::Check TierApproved(const v1::Plan& plan, const std::string& plan_digest, const Approvals& given);
v1::Check NodesAccept(const v1::Plan& plan, const v1::PlannedTrial& trial, const std::string& plan_digest,
                      const Approvals& given, const std::map<std::string, std::optional<v1::Hello>>& nodes);

}  // namespace triodrill::gate
