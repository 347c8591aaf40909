#include "triodrill/signed/approval.h"

#include <algorithm>
#include <ctime>

#include "triodrill/schema/json.h"
#include "triodrill/signed/dsse.h"
#include "triodrill/text.h"
#include "triodrill/v1/faults.pb.h"

namespace triodrill {
namespace {

constexpr size_t kDigestChars = 64;
constexpr std::string_view kHead =
    R"({"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"plan.json","digest":{"sha256":")";
constexpr std::string_view kMiddle = R"("}}],"predicateType":"urn:triodrill:approval:v1","predicate":)";
constexpr std::string_view kTail = "}";

Status NotAnApproval(std::string_view what) { return absl::DataLossError(Cat("not an approval: ", what)); }

bool IsDigest(std::string_view text) {
  return text.size() == kDigestChars && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// What people see of it, and what it is found by: a line must stay a line.
bool IsPlain(const std::string& text) {
  constexpr size_t kLongest = 253;
  return text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

Status CheckFault(const v1::ApprovedFault& fault) {
  const bool nodes = std::all_of(fault.nodes().begin(), fault.nodes().end(),
                                 [](const std::string& node) { return IsPlain(node) && !node.empty(); });
  if (fault.id().empty() || !IsPlain(fault.id()) || !IsPlain(fault.kind()) || !nodes || fault.max_hold_ns() <= 0 ||
      !IsDigest(fault.parameters())) {
    return NotAnApproval("a fault in it has no plain name, no parameters' digest or no longest hold");
  }
  return Ok();
}

Status CheckApproval(const v1::Approval& approval) {
  if (!IsDigest(approval.plan_digest())) return NotAnApproval("its plan's digest is no SHA-256");
  for (const std::string* text : {&approval.approver(), &approval.key_id(), &approval.drill(), &approval.partition()}) {
    if (text->empty() || !IsPlain(*text)) return NotAnApproval("a name in it is none");
  }
  if (!IsPlain(approval.user()) || !IsPlain(approval.host())) return NotAnApproval("user or host is no name");
  const int64_t issued = approval.issued_s();
  const int64_t expires = approval.expires_s();
  if (issued <= 0 || expires <= issued || expires - issued > kLongestApproval_s) {
    return NotAnApproval("it must end after it was made, and within 7 days");
  }
  if (approval.faults().empty() || approval.faults_size() > kMostApprovedFaults) {
    return NotAnApproval(Cat("it names ", approval.faults_size(), " faults, of 1 to ", kMostApprovedFaults));
  }
  for (const v1::ApprovedFault& fault : approval.faults()) {
    TRIODRILL_RETURN_IF_ERROR(CheckFault(fault));
  }
  return Ok();
}

std::string NotNow(const v1::Approval& approval, std::optional<int64_t> now_s) {
  if (!now_s) return "the clock cannot be read, so whether it has expired cannot be said";
  if (approval.issued_s() > *now_s + kApprovalTolerance_s) {
    return Cat("it was made at ", UtcText(approval.issued_s()), ", and by this clock it is ", UtcText(*now_s));
  }
  if (*now_s >= approval.expires_s() + kApprovalTolerance_s) {
    return Cat("it expired at ", UtcText(approval.expires_s()));
  }
  return "";
}

}  // namespace

std::string UtcText(int64_t seconds) {
  const time_t when = seconds;
  std::tm parts{};
  char text[64];
  if (gmtime_r(&when, &parts) == nullptr || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return std::to_string(seconds);
  }
  return text;
}

v1::ApprovedFault FaultToApprove(const std::string& id, const std::string& kind, const v1::Parameters& with,
                                 Nanos max_hold) {
  v1::ApprovedFault fault;
  fault.set_id(id);
  fault.set_kind(kind);
  fault.set_parameters(HexDigest(ToJson(with)));
  fault.set_max_hold_ns(max_hold.count());
  return fault;
}

std::string ApprovalStatement(const v1::Approval& approval) {
  return Cat(kHead, approval.plan_digest(), kMiddle, ToJson(approval), kTail);
}

Result<v1::Approval> ParseApprovalStatement(std::string_view statement) {
  const size_t predicate = kHead.size() + kDigestChars + kMiddle.size();
  if (statement.size() > kMostApprovalBytes) return NotAnApproval("larger than 64 KiB");
  if (statement.size() < predicate + kTail.size() || !statement.starts_with(kHead) || !statement.ends_with(kTail) ||
      statement.substr(kHead.size() + kDigestChars, kMiddle.size()) != kMiddle) {
    return NotAnApproval("it states something else, or in another form");
  }
  v1::Approval approval;
  const Status read = FromJson(statement.substr(predicate, statement.size() - predicate - kTail.size()), approval);
  if (!read.ok()) return NotAnApproval(std::string(read.message()));
  if (ApprovalStatement(approval) != statement) return NotAnApproval("its bytes are not those of its one form");
  TRIODRILL_RETURN_IF_ERROR(CheckApproval(approval));
  return approval;
}

Result<v1::Approval> OpenApproval(std::string_view text, const std::vector<ApproverKey>& approvers) {
  if (text.size() > kMostApprovalBytes) return NotAnApproval("larger than 64 KiB");
  TRIODRILL_ASSIGN_OR_RETURN(const Envelope envelope, ParseEnvelope(text));
  if (envelope.payload_type != kInTotoType) return NotAnApproval("its payload is not an in-toto statement");
  const auto by = std::find_if(approvers.begin(), approvers.end(),
                               [&](const ApproverKey& one) { return one.key.id() == envelope.key_id; });
  if (by == approvers.end()) {
    return absl::PermissionDeniedError(
        Cat("signed by a key that is no approver's here: ", IsDigest(envelope.key_id) ? envelope.key_id : "?"));
  }
  if (!by->key.Verifies(Pae(envelope.payload_type, envelope.payload), envelope.signature)) {
    return absl::PermissionDeniedError(Cat("the signature is not one of ", by->name, "'s key"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(v1::Approval approval, ParseApprovalStatement(envelope.payload));
  if (approval.approver() != by->name || approval.key_id() != by->key.id()) {
    return absl::PermissionDeniedError(
        Cat("it says it is ", approval.approver(), "'s, and the key that signed it is ", by->name, "'s"));
  }
  return approval;
}

CountedApprovals CountApprovals(std::span<const std::string> envelopes, const ApprovalRules& rules,
                                const std::string& plan_digest, std::optional<int64_t> now_s) {
  CountedApprovals all;
  if (envelopes.size() > kMostApprovals) {
    all.problems.push_back(Cat(envelopes.size(), " approvals: no more than ", kMostApprovals, " are looked at"));
    return all;
  }
  for (size_t i = 0; i < envelopes.size(); ++i) {
    const auto wrong = [&all, i](const std::string& what) {
      all.problems.push_back(Cat("approval ", i + 1, ": ", what));
    };
    Result<v1::Approval> approval = OpenApproval(envelopes[i], rules.approvers);
    if (!approval.ok()) {
      wrong(std::string(approval.status().message()));
      continue;
    }
    const std::string of = Cat(approval->approver(), "'s: ");
    const bool twice = std::any_of(all.counted.begin(), all.counted.end(), [&](const v1::Approval& one) {
      return one.approver() == approval->approver() || one.key_id() == approval->key_id();
    });
    if (approval->plan_digest() != plan_digest) {
      wrong(Cat(of, "it is of another plan, sha256:", approval->plan_digest()));
    } else if (const std::string when = NotNow(*approval, now_s); !when.empty()) {
      wrong(of + when);
    } else if (rules.wanted > 1 && approval->approver() == rules.runner) {
      wrong(of + "whoever runs the drill is not one of the persons who approve it");
    } else if (twice) {
      wrong(of + "one person counts once");
    } else {
      all.counted.push_back(*std::move(approval));
    }
  }
  return all;
}

bool NamesFault(const v1::Approval& approval, const v1::ApprovedFault& fault) {
  const auto covers = [&fault](const v1::ApprovedFault& one) {
    const auto listed = [&one](const std::string& node) {
      return std::find(one.nodes().begin(), one.nodes().end(), node) != one.nodes().end();
    };
    return one.id() == fault.id() && one.kind() == fault.kind() && one.parameters() == fault.parameters() &&
           !one.parameters().empty() && fault.max_hold_ns() > 0 && fault.max_hold_ns() <= one.max_hold_ns() &&
           (one.nodes().empty() ||
            (!fault.nodes().empty() && std::all_of(fault.nodes().begin(), fault.nodes().end(), listed)));
  };
  return std::any_of(approval.faults().begin(), approval.faults().end(), covers);
}

std::string Unapproved(const v1::ApprovedFault& fault, const CountedApprovals& approvals, const ApprovalRules& rules) {
  if (!rules.waived.empty()) return "";
  const int wanted = std::max(1, rules.wanted);
  const auto persons = std::count_if(approvals.counted.begin(), approvals.counted.end(),
                                     [&](const v1::Approval& approval) { return NamesFault(approval, fault); });
  if (!rules.approvers.empty() && persons >= wanted) return "";
  const std::string what = Cat("fault '", fault.id(), "', ", fault.kind(), ", ");
  if (rules.approvers.empty()) return what + "is of tier confirm, and nobody is named who may approve it";
  return Cat(what, "is approved by ", persons, " of ", wanted, wanted == 1 ? " person" : " persons");
}

}  // namespace triodrill
