#include "triodrill/schema/policy.h"

#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/defaults.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/text.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/shadow_policy.pb.h"

namespace triodrill {

bool ParseAgentPolicy(std::string_view text, std::string_view file, v1::AgentPolicy& policy,
                      std::vector<Diagnostic>& problems) {
  const size_t before = problems.size();
  Places places;
  ParseYaml(text, file, policy, places, problems);
  std::vector<std::string> kinds;
  for (const FaultRow& row : FaultCatalogue()) kinds.push_back(row.kind);
  for (int i = 0; i < policy.spec().faults_size(); ++i) {
    const std::string& kind = policy.spec().faults(i);
    if (FindFaultRow(kind) != nullptr) continue;
    problems.push_back(
        places.At(Cat("spec.faults[", i, "]"), file, Cat("unknown fault `", kind, "`"), SuggestFrom(kind, kinds)));
  }
  SortByPlace(problems, before);
  FillDefaults(policy, places);
  return problems.size() == before;
}

bool ParseShadowPolicy(std::string_view text, std::string_view file, v1::ShadowPolicy& policy,
                       std::vector<Diagnostic>& problems) {
  const size_t before = problems.size();
  Places places;
  ParseYaml(text, file, policy, places, problems);
  FillDefaults(policy, places);
  if (problems.size() == before &&
      ToNanos(policy.spec().detection().heartbeat_timeout()) <= ToNanos(policy.spec().training().heartbeat())) {
    problems.push_back(places.At("spec.detection.heartbeat_timeout", file,
                                 "heartbeat_timeout is not longer than training.heartbeat",
                                 "allow several heartbeats to be late"));
  }
  return problems.size() == before;
}

}  // namespace triodrill
