// The files of the run directory that the pipeline writes and reads: its log, the truth, the ledger, the rendezvous'
// stores, the checkpoints' names. The working directory is the run directory. One write(2) a line: a crash leaves whole
// lines, and at most one line less.
#pragma once

#include <string>

#include "drills/shadow/node_channel.h"
#include "drills/shadow/pipeline/core.h"
#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

class RunFiles {
 public:
  static Result<RunFiles> Open();

  void Write(const LogLine& line);
  // The pipeline decided at the one instant, and by the other its log said so: CLOCK_MONOTONIC, in nanoseconds.
  void Write(const Truth& truth, TimePoint decided, TimePoint said);
  void Write(const LedgerEntry& entry);

 private:
  RunFiles() = default;
  OwnedFd log_;
  OwnedFd truth_;
  OwnedFd ledger_;
};

// Complete checkpoints of `shards` shards that are not newer than the file `latest` says, newest first.
Checkpoints ListCheckpoints(int shards);

// An empty directory, whatever was there.
void MakeStoreDirectory(const MakeStore& store);

// True once for each time that somebody made the file `confirm`.
bool TakeConfirmation();

}  // namespace triodrill::shadow::pipeline
