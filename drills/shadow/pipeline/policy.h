// The pipeline's policy as a value: the YAML document ShadowPolicy with its defaults filled in. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "drills/shadow/pipeline/defects.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/shadow_policy.pb.h"

namespace triodrill::shadow::pipeline {

struct Policy {
  v1::ShadowPolicySpec spec;  // every field set
  std::string checks;         // for a trainer's --checks
  std::set<int> fatal_xids;
  Defect defect = Defect::kNone;

  bool Has(Defect one) const { return defect == one; }
};

// The error is one `file:line:column: error: …` a line.
Result<Policy> ParsePolicy(std::string_view text, std::string_view file);

}  // namespace triodrill::shadow::pipeline
