#include "drills/shadow/pipeline/policy.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/policy.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr std::string_view kAllChecks =
    "gradient_hash,state_hash,norm,collective_checksum,replay:8,peer_replay:32,abft";

}  // namespace

Result<Policy> ParsePolicy(std::string_view text, std::string_view file) {
  v1::ShadowPolicy document;
  std::vector<Diagnostic> problems;
  ParseShadowPolicy(text, file, document, problems);
  if (!problems.empty()) {
    std::string all;
    for (const Diagnostic& problem : problems) Append(all, all.empty() ? "" : "\n", problem.Text());
    return absl::InvalidArgumentError(all);
  }
  Policy policy;
  policy.spec = document.spec();
  policy.checks =
      policy.spec.sdc().checks().empty() ? std::string(kAllChecks) : absl::StrJoin(policy.spec.sdc().checks(), ",");
  return policy;
}

}  // namespace triodrill::shadow::pipeline
