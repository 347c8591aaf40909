#include "tests/fakes/nccl/communicator.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace triodrill::nccl {

ncclComm::~ncclComm() {
  {
    const std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  if (worker.joinable()) worker.join();
}

}  // namespace triodrill::nccl

namespace triodrill::fake_nccl {
namespace {

// What one group asks of one communicator.
struct Work {
  std::vector<std::function<void()>> tasks;
  std::vector<Transfer> transfers;
};

struct Group {
  int depth = 0;
  std::map<Comm, Work> work;
};
thread_local Group group;
thread_local std::string last_error;

void Run(Comm comm, Work& work) {
  try {
    if (comm->error.load() != nccl::kSuccess) return;
    for (const std::function<void()>& task : work.tasks) task();
    if (!work.transfers.empty()) comm->channel->Exchange(work.transfers);
  } catch (const Failure& failure) {
    // As NCCL's, an error sticks.
    comm->error.store(failure.result);
    last_error = failure.why;
  }
}

std::chrono::milliseconds Lag() {
  const char* const text = std::getenv("TRIODRILL_FAKE_NCCL_LAG_MS");
  return std::chrono::milliseconds(text == nullptr ? 0 : std::strtol(text, nullptr, 10));
}

void Serve(Comm comm) {
  std::unique_lock lock(comm->mutex);
  for (;;) {
    comm->changed.wait(lock, [&] { return comm->ends || !comm->queue.empty(); });
    if (comm->queue.empty()) return;
    const std::function<void()> next = std::move(comm->queue.front());
    comm->queue.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(Lag());
    next();
    lock.lock();
    --comm->unfinished;
  }
}

void Post(Comm comm, Work work) {
  const std::lock_guard lock(comm->mutex);
  if (!comm->worker.joinable()) comm->worker = std::thread(&Serve, comm);
  ++comm->unfinished;
  comm->queue.push_back([comm, kept = std::make_shared<Work>(std::move(work))] { Run(comm, *kept); });
  comm->changed.notify_all();
}

Result Perform(std::map<Comm, Work>&& all) {
  Result result = nccl::kSuccess;
  std::vector<std::thread> threads;
  for (auto& [comm, work] : all) {
    if (!comm->blocking) {
      Post(comm, std::move(work));
      result = nccl::kInProgress;
    } else if (all.size() == 1) {
      Run(comm, work);
    } else {
      // Several ranks in one process: each waits for the others.
      threads.emplace_back([comm = comm, &work = work] { Run(comm, work); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [comm, work] : all) {
    if (comm->blocking && comm->error.load() != nccl::kSuccess) return comm->error.load();
  }
  return result;
}

Result PerformUnlessGrouped() {
  if (group.depth > 0) return nccl::kSuccess;
  return Perform(std::exchange(group.work, {}));
}

}  // namespace

Result Do(Comm comm, std::function<void()> task) {
  group.work[comm].tasks.push_back(std::move(task));
  return PerformUnlessGrouped();
}

Result DoTransfer(Comm comm, Transfer transfer) {
  group.work[comm].transfers.push_back(transfer);
  return PerformUnlessGrouped();
}

void GroupStart() { ++group.depth; }

Result GroupEnd() {
  if (group.depth == 0) return nccl::kInvalidUsage;
  --group.depth;
  return PerformUnlessGrouped();
}

Result StateOf(Comm comm) {
  const std::lock_guard lock(comm->mutex);
  if (comm->unfinished > 0) return nccl::kInProgress;
  return comm->error.load();
}

void Free(Comm comm, bool aborted) {
  if (aborted && comm->channel != nullptr) comm->channel->Abort();
  delete comm;
}

const char* LastError() { return last_error.c_str(); }

}  // namespace triodrill::fake_nccl
