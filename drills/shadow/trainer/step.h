// One training step of one rank: arithmetic, three collectives, the checks, the optimizer. Training thread only.
#pragma once

#include <vector>

#include "drills/shadow/trainer/kernel.h"
#include "drills/shadow/trainer/mesh.h"
#include "drills/shadow/trainer/rank_memory.h"
#include "drills/shadow/trainer/workload_link.h"

namespace triodrill::shadow::trainer {

struct StepParts {
  const Checks& checks;
  Clock& clock;
  SimulatedKernel& kernel;
  RankMemory& memory;
  WorkloadLink& workload;
  Vitals& vitals;
};

struct StepOutcome {
  // Cancelled: a newer order came. Unavailable: a collective broke, or the GPU is lost. Internal: the ranks are not in
  // the same step.
  Status status;
  std::vector<Finding> findings;  // some: the step was applied by nobody
  std::vector<Record> records;    // of all ranks
};

// Makes step memory.state.step + 1. `norms` is that of the epoch, and grows with each step that is applied. `durable`
// is told to the others.
StepOutcome MakeStep(StepParts& parts, Mesh& mesh, NormHistory& norms, int64_t durable);

}  // namespace triodrill::shadow::trainer
