#include "reports/render/origin.h"

#include <map>

#include "absl/strings/str_join.h"
#include "triodrill/signed/approval.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kShownOfAKey = 16;

Row ApprovedBy(const v1::Approval& approval) {
  std::vector<std::string> faults;
  for (const v1::ApprovedFault& fault : approval.faults()) faults.push_back(Cat(fault.id(), " (", fault.kind(), ")"));
  return {"approved by", Cat(approval.approver(), ", key ", approval.key_id().substr(0, kShownOfAKey), ", as ",
                             approval.user(), " on ", approval.host(), ", from ", UtcText(approval.issued_s()), " to ",
                             UtcText(approval.expires_s()), ": ", absl::StrJoin(faults, ", "))};
}

}  // namespace

std::vector<Row> ApprovalRows(const Origin& origin) {
  std::vector<Row> rows;
  for (const v1::Approval& approval : origin.approvals) rows.push_back(ApprovedBy(approval));
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Waiver& waiver : origin.waivers) by_reason[waiver.reason].push_back(waiver.who);
  for (const auto& [reason, who] : by_reason) {
    rows.push_back({"approvals waived", Cat("by ", absl::StrJoin(who, ", "), ": ", reason)});
  }
  return rows;
}

std::vector<Row> OriginRows(const Origin& origin) {
  std::vector<Row> rows;
  const auto add = [&rows](const char* label, const std::string& text) {
    if (!text.empty()) rows.push_back({label, text});
  };
  add("logged in as", origin.login);
  add("terminal", origin.terminal);
  add("CI job", origin.job);
  add("of tier confirm", absl::StrJoin(origin.to_approve, ", "));
  for (Row& row : ApprovalRows(origin)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace triodrill
