// environment.drift: a slow wave of one to five per cent, as the temperature of a day makes it. Where the target
// computes on a GPU, the GPU's clock drifts (injectors/gpu/drift.h); else a share of the process's time is taken
// (injectors/cpu/stutter.h). Which of them it was stands in the record, and each operation follows it.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// The helpers' files; beside this process's own if empty.
struct DriftPrograms {
  std::string stutter;
  std::string clockwave;
};
std::unique_ptr<Injector> MakeEnvironmentDrift(const DriftPrograms& programs = {});

v1::Capability ProbeEnvironmentDrift();

}  // namespace triodrill
