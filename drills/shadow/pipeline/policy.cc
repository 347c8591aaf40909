#include "drills/shadow/pipeline/policy.h"

#include <iterator>
#include <vector>

#include "absl/strings/str_join.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/policy.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr std::string_view kAllChecks =
    "gradient_hash,state_hash,norm,collective_checksum,replay:8,peer_replay:32,abft";

// The GPU is lost, its memory or a link of it is not to be trusted, or its firmware does not answer.
constexpr int kFatalXids[] = {48, 63, 64, 74, 79, 94, 95, 119, 120};

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
  const auto& xids = policy.spec.detection().fatal_xids();
  policy.fatal_xids = xids.empty() ? std::set<int>(std::begin(kFatalXids), std::end(kFatalXids))
                                   : std::set<int>(xids.begin(), xids.end());
  return policy;
}

}  // namespace triodrill::shadow::pipeline
