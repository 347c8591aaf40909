#include "drills/shadow/pipeline/checkpoint_reader.h"

#include <sys/eventfd.h>

#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include "drills/shadow/pipeline/run_files.h"

namespace triodrill::shadow::pipeline {

Result<CheckpointReader> CheckpointReader::Open() {
  auto shared = std::make_shared<Shared>();
  shared->ready.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->ready.valid()) return ErrnoStatus("eventfd of", "the pipeline");
  return CheckpointReader(std::move(shared));
}

void CheckpointReader::Ask(int request, int shards) {
  const auto look = [shared = shared_, request, shards] {
    Checkpoints found = ListCheckpoints(shards);
    found.request = request;
    const std::lock_guard lock(shared->mutex);
    shared->answers.push_back(std::move(found));
    eventfd_write(shared->ready.get(), 1);
  };
  try {
    std::thread(look).detach();
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "triodrill-pipeline: warning: look at the checkpoints: %s\n", error.what());
  }
}

std::vector<Checkpoints> CheckpointReader::TakeAnswers() {
  eventfd_t count = 0;
  if (eventfd_read(shared_->ready.get(), &count) != 0) return {};
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answers, {});
}

}  // namespace triodrill::shadow::pipeline
