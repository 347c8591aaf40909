// The fault-free run of a job, all ranks in one process, by the functions the ranks themselves use. Pure.
#pragma once

#include <cstdint>
#include <functional>

#include "drills/shadow/trainer/model.h"

namespace triodrill::shadow::trainer {

struct ReferencePoint {
  int64_t step = 0;              // done
  double loss = 0;               // mean over the replicas
  std::vector<uint64_t> hashes;  // of each shard's state; all replicas hold the same
};

// Calls `seen` after every step.
void RunReference(const Layout& layout, uint64_t seed, int64_t steps,
                  const std::function<void(const ReferencePoint&)>& seen);

}  // namespace triodrill::shadow::trainer
