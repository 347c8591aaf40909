// How a joined rank comes by its state: from the seed, from a checkpoint, from a replica that lives, or from its own
// memory. All ranks of the job do it together, and all or none go on.
#pragma once

#include <optional>
#include <span>

#include "drills/shadow/protocol/messages.h"
#include "drills/shadow/trainer/mesh.h"
#include "drills/shadow/trainer/rank_memory.h"

namespace triodrill::shadow::trainer {

// What a rank has in memory: a rank may have been stopped in the middle of a step that others have applied, so each
// keeps the state before the last step too. kNoState: none.
struct Holding {
  int64_t current = kNoState;
  int64_t previous = kNoState;
};

// The newest step that all of `holdings` have. Pure.
std::optional<int64_t> NewestCommonStep(std::span<const Holding> holdings);

// Ok: memory.state is the job's and the same step is done on all ranks. Otherwise memory.state is what it was.
//   DataLoss, NotFound       this or another rank's checkpoint cannot be restored
//   FailedPrecondition       the ranks do not agree, or the order cannot be met
//   Unavailable              a collective broke
Status Restore(const Join& join, Mesh& mesh, RankMemory& memory);

}  // namespace triodrill::shadow::trainer
