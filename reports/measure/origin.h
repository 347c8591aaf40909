// Who ran it, who approved it, and from where: as the timeline has it. Not a figure, so not in trio.json; the reports
// show it, and `verify` checks the approvals again. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/evidence/timeline.h"
#include "triodrill/v1/approval.pb.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct Waiver {
  std::string who;  // "the partition", "n0"
  std::string reason;
};

struct Origin {
  std::string login;  // over sudo and su; "" if the kernel does not know
  std::string terminal;
  std::string job;  // of a CI
  std::vector<v1::Approval> approvals;
  std::vector<Waiver> waivers;          // only where a fault of the plan needs an approval
  std::vector<std::string> to_approve;  // kinds
};

Origin MeasureOrigin(const v1::Plan& plan, const Timeline& timeline);

}  // namespace triodrill
