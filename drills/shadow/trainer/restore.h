// How a joined rank comes by its state: from the seed, from a checkpoint, from a replica that lives, or from its own
// memory. All ranks of the job do it together, and all or none go on.
#pragma once

#include "drills/shadow/protocol/messages.h"
#include "drills/shadow/trainer/mesh.h"
#include "drills/shadow/trainer/rank_memory.h"

namespace triodrill::shadow::trainer {

// Ok: memory.state is the job's and the same step is done on all ranks. Otherwise memory.state is what it was.
//   DataLoss, NotFound       this or another rank's checkpoint cannot be restored
//   FailedPrecondition       the ranks do not agree, or the order cannot be met
//   Unavailable              a collective broke
Status Restore(const Join& join, Mesh& mesh, RankMemory& memory);

}  // namespace triodrill::shadow::trainer
