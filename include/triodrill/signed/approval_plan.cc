// Which faults of a plan are to be approved, and how an approval names them.
#include <algorithm>
#include <functional>
#include <set>

#include "triodrill/schema/catalogue.h"
#include "triodrill/signed/approval.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {
namespace {

// Takes `one` into the fault that it is alike, or makes it one more. Anywhere and somewhere are anywhere.
void TakeIn(const v1::ApprovedFault& one, std::vector<v1::ApprovedFault>& all) {
  const auto like = std::find_if(all.begin(), all.end(), [&one](const v1::ApprovedFault& other) {
    return other.id() == one.id() && other.kind() == one.kind() && other.parameters() == one.parameters() &&
           other.max_hold_ns() == one.max_hold_ns();
  });
  if (like == all.end()) {
    all.push_back(one);
    return;
  }
  std::set<std::string> nodes(like->nodes().begin(), like->nodes().end());
  nodes.insert(one.nodes().begin(), one.nodes().end());
  const bool anywhere = like->nodes().empty() || one.nodes().empty();
  like->clear_nodes();
  if (anywhere) return;
  for (const std::string& node : nodes) like->add_nodes(node);
}

std::vector<v1::ApprovedFault> FaultsThat(const v1::Plan& plan, const std::function<bool(const std::string&)>& fits) {
  std::vector<v1::ApprovedFault> all;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    for (const v1::Shot& shot : trial.shots()) {
      if (fits(shot.kind())) TakeIn(FaultOfShot(shot), all);
    }
  }
  return all;
}

}  // namespace

v1::ApprovedFault FaultOfShot(const v1::Shot& shot) {
  v1::ApprovedFault fault = FaultToApprove(shot.fault_id(), shot.kind(), shot.with(), ToNanos(shot.max_hold()));
  if (shot.rank() < 0) fault.add_nodes(shot.node());
  return fault;
}

std::vector<v1::ApprovedFault> FaultsToApprove(const v1::Plan& plan) {
  return FaultsThat(plan, [](const std::string& kind) { return NeedsApproval(kind); });
}

std::vector<v1::ApprovedFault> IrreversibleFaults(const v1::Plan& plan) {
  return FaultsThat(plan, [](const std::string& kind) {
    const FaultRow* const row = FindFaultRow(kind);
    return row != nullptr && !NeedsApproval(kind) && row->facts.reversal() == v1::NONE;
  });
}

}  // namespace triodrill
