// Whether what was fired had been approved: the approvals in the timeline, looked at again as of the run's time. Pure.
#pragma once

#include <optional>

#include "reports/evidence/timeline.h"
#include "reports/evidence/verify.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// nullopt where no fault of the plan needs an approval and none was given.
std::optional<ProofStep> ApprovalStep(const v1::Plan& plan, const Timeline& timeline);

}  // namespace triodrill
