#include "drills/shadow/pipeline/policy.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "triodrill/schema/defaults.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr std::string_view kAllChecks =
    "gradient_hash,state_hash,norm,collective_checksum,replay:8,peer_replay:32,abft";

}  // namespace

Result<Policy> ParsePolicy(std::string_view text, std::string_view file) {
  v1::ShadowPolicy document;
  Places places;
  std::vector<Diagnostic> problems;
  ParseYaml(text, file, document, places, problems);
  FillDefaults(document, places);
  const v1::ShadowDetection& detection = document.spec().detection();
  if (problems.empty() && ToNanos(detection.heartbeat_timeout()) <= ToNanos(document.spec().training().heartbeat())) {
    problems.push_back(places.At("spec.detection.heartbeat_timeout", file,
                                 "heartbeat_timeout is not longer than training.heartbeat",
                                 "allow several heartbeats to be late"));
  }
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
