// A rank's lines in its node's log, RUN_DIR/progress-NODE.log: what a drill reads as the job's progress. Each is one
// write(2) to a file that is only appended to, so that the ranks of a node can share it.
#pragma once

#include <string>
#include <string_view>

#include "drills/shadow/owned_fd.h"
#include "drills/shadow/trainer/outbox.h"
#include "triodrill/status.h"

namespace triodrill::shadow::trainer {

class ProgressLog {
 public:
  static Result<ProgressLog> Open(const std::string& file, Vitals& vitals);
  // Any thread. A line that cannot be written is lost: a full disk must not stop the training.
  void Line(std::string_view line);

 private:
  ProgressLog(OwnedFd fd, Vitals& vitals) : fd_(std::move(fd)), vitals_(&vitals) {}

  OwnedFd fd_;
  Vitals* vitals_;
};

}  // namespace triodrill::shadow::trainer
