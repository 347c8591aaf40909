// Which signals of a profile can prove which step of the pipeline. Pure: for a person who reads a plan.
#pragma once

#include <string>
#include <vector>

#include "triodrill/v1/drill.pb.h"

namespace triodrill::plan {

struct StepProofs {
  std::string step;                  // detect, self_check, isolate, replace, recover
  std::vector<std::string> signals;  // "xid-fired (alertmanager webhook)"
  std::string outcome;               // what proves it without any signal; "" if nothing does
  bool not_applicable = false;
};

std::vector<StepProofs> ProofsOf(const v1::PipelineSpec& pipeline);

}  // namespace triodrill::plan
