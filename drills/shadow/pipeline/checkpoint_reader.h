// Looks at the checkpoints aside: storage may take as long as it likes to answer, and the pipeline must go on hearing
// its nodes. Owned by the server. Each look has a thread of its own, which is left to itself: one whose storage never
// answers ends with the process, and what it would have said is nobody's any more. A crash leaves nothing behind.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "drills/shadow/node_channel.h"
#include "drills/shadow/pipeline/core.h"
#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

class CheckpointReader {
 public:
  static Result<CheckpointReader> Open();

  int fd() const { return shared_->ready.get(); }  // readable once there are answers
  void Ask(int request, int shards);               // a look that cannot begin is one that never ends
  std::vector<Checkpoints> TakeAnswers();

 private:
  struct Shared {
    OwnedFd ready;
    std::mutex mutex;
    std::vector<Checkpoints> answers;  // under mutex
  };
  explicit CheckpointReader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace triodrill::shadow::pipeline
