// A communicator of the stand-in NCCL and the order in which its work is done: at once, at the end of the outermost
// group, or, where it does not block, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "injectors/collective/nccl_abi.h"
#include "tests/fakes/nccl/channel.h"

namespace triodrill::nccl {

struct ncclComm {
  std::string path;
  int rank = -1;
  int ranks = 0;
  int splits = 0;
  bool blocking = true;
  std::unique_ptr<fake_nccl::Channel> channel;
  std::atomic<Result> error{kSuccess};

  // Of a communicator that does not block.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  int unfinished = 0;
  bool ends = false;
  std::thread worker;

  ~ncclComm();
};

}  // namespace triodrill::nccl

namespace triodrill::fake_nccl {

using nccl::Comm;
using nccl::Result;

// Something to be done for the communicator, in order. In a group it waits for the outermost end. Throws nothing; a
// failure is the communicator's from then on.
Result Do(Comm comm, std::function<void()> task);
// As Do; those of a group go together.
Result DoTransfer(Comm comm, Transfer transfer);

void GroupStart();
Result GroupEnd();

// As ncclCommGetAsyncError.
Result StateOf(Comm comm);
// Waits for what is under way; `aborted`: lets it fail first.
void Free(Comm comm, bool aborted);

// Of this thread's last failure.
const char* LastError();

}  // namespace triodrill::fake_nccl
