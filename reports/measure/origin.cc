#include "reports/measure/origin.h"

#include <map>
#include <set>

#include "triodrill/signed/approval.h"

namespace triodrill {

Origin MeasureOrigin(const v1::Plan& plan, const Timeline& timeline) {
  Origin origin;
  std::set<std::string> kinds;
  for (const v1::ApprovedFault& fault : FaultsToApprove(plan)) kinds.insert(fault.kind());
  origin.to_approve.assign(kinds.begin(), kinds.end());
  const std::string& waived = plan.partition().spec().waive_approvals();
  if (!kinds.empty() && !waived.empty()) origin.waivers.push_back({"the partition", waived});
  std::map<std::string, std::string> by_node;
  for (const v1::Fact& fact : timeline.facts) {
    if (fact.has_run_started()) {
      origin.login = fact.run_started().login();
      origin.terminal = fact.run_started().terminal();
      origin.job = fact.run_started().job();
    } else if (fact.has_approval()) {
      origin.approvals.push_back(fact.approval().approval());
    } else if (fact.has_agent() && !fact.agent().approvals_waived().empty()) {
      by_node[fact.agent().node()] = fact.agent().approvals_waived();
    }
  }
  if (kinds.empty()) return origin;
  for (const auto& [node, reason] : by_node) origin.waivers.push_back({node, reason});
  return origin;
}

}  // namespace triodrill
