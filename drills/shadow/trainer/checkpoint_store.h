// Checkpoints on disk, below the run directory (the working directory). Any thread; no state of its own.
// A crash leaves at most a file named .new beside the one it was to become; it is overwritten when that step comes
// again.
#pragma once

#include <string>
#include <string_view>

#include "drills/shadow/trainer/checkpoint.h"
#include "triodrill/status.h"

namespace triodrill::shadow::trainer {

// Returns when it is on disk under its name, or not there at all (then what was there before still is).
Status WriteDurably(const std::string& file, std::string_view bytes);
Status WriteShard(const CheckpointIdentity& identity, const State& state);
// NotFound, DataLoss, FailedPrecondition: see DecodeCheckpoint.
Result<State> ReadShard(const CheckpointIdentity& identity, int64_t step, size_t parameters, bool verify);

Status MoveLatest(int64_t step);
// Deletes what StepsToDrop names; what cannot be deleted stays.
void DropOldSteps(int64_t latest, int keep);

}  // namespace triodrill::shadow::trainer
