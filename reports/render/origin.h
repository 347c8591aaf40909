// Who ran it, who approved it, from where, as rows. Pure.
#pragma once

#include <vector>

#include "reports/measure/origin.h"
#include "reports/render/sections.h"

namespace triodrill {

std::vector<Row> OriginRows(const Origin& origin);
// Of these only what is said of approvals: none if no fault needed one.
std::vector<Row> ApprovalRows(const Origin& origin);

}  // namespace triodrill
