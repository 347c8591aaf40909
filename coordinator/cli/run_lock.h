// Who runs a drill on a partition, if anybody does; and telling them to stop. Read-only but for the signal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "triodrill/status.h"

namespace triodrill::cli {

// The process that holds STATE/run.lock; nullopt if nobody does.
Result<std::optional<pid_t>> RunHolder(const std::string& state_dir);

// SIGINT to the holder, through a pidfd opened while it was seen to hold the lock; waits until it has ended. An error
// says that it did not end in time.
Status AbortHolder(const std::string& state_dir, pid_t holder, std::chrono::milliseconds patience);

}  // namespace triodrill::cli
