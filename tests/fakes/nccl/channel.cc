#include "tests/fakes/nccl/channel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace triodrill::fake_nccl {
namespace {

int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

int64_t LimitMs() {
  const char* const text = std::getenv("TRIODRILL_FAKE_NCCL_TIMEOUT_MS");
  return text == nullptr ? 30'000 : std::strtol(text, nullptr, 10);
}

void FutexWait(std::atomic<uint32_t>& word, uint32_t value) {
  const timespec some{0, 50'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &some, nullptr, 0);
}
void FutexWake(std::atomic<uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

}  // namespace

Channel::Channel(std::string path, int rank, int ranks) : path_(std::move(path)), rank_(rank), ranks_(ranks) {}

Channel::~Channel() {
  for (const int fd : peers_) ::close(fd);
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

void Channel::Fail(nccl::Result result, const std::string& why) {
  if (shared_ != nullptr) shared_->failed.store(result);
  throw Failure{result, why};
}

void Channel::Wait(std::atomic<uint32_t>& word, uint32_t value, int64_t until_ms) {
  FutexWait(word, value);
  if (word.load(std::memory_order_acquire) != value) return;
  if (aborted_.load()) throw Failure{nccl::kRemoteError, "aborted"};
  if (const nccl::Result failed = shared_->failed.load(); failed != 0) throw Failure{failed, "another rank failed"};
  for (const int peer : peers_) {
    pollfd ended{peer, POLLIN, 0};
    if (::poll(&ended, 1, 0) > 0 && word.load(std::memory_order_acquire) == value) {
      Fail(nccl::kRemoteError, "a peer has ended");
    }
  }
  if (NowMs() > until_ms) Fail(nccl::kRemoteError, "timed out");
}

void Channel::Join() {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Shared)) != 0) {
    if (fd >= 0) ::close(fd);
    throw Failure{nccl::kSystemError, "open " + path_};
  }
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) throw Failure{nccl::kSystemError, "map " + path_};
  shared_ = static_cast<Shared*>(memory);
  shared_->pids[rank_].store(::getpid());
  shared_->attached.fetch_add(1, std::memory_order_acq_rel);
  FutexWake(shared_->attached);
  const int64_t until = NowMs() + LimitMs();
  for (;;) {
    const uint32_t attached = shared_->attached.load(std::memory_order_acquire);
    if (attached >= static_cast<uint32_t>(ranks_)) break;
    try {
      Wait(shared_->attached, attached, until);
    } catch (const Failure&) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  for (int i = 0; i < ranks_; ++i) {
    if (shared_->pids[i].load() == ::getpid()) continue;
    const auto peer = static_cast<int>(::syscall(SYS_pidfd_open, shared_->pids[i].load(), 0));
    if (peer >= 0) peers_.push_back(peer);
  }
  if (rank_ == 0) ::unlink(path_.c_str());
}

void Channel::Barrier() {
  const int64_t until = NowMs() + LimitMs();
  const uint32_t epoch = shared_->epoch.load(std::memory_order_acquire);
  if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(ranks_)) {
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->epoch.fetch_add(1, std::memory_order_release);
    FutexWake(shared_->epoch);
    return;
  }
  while (shared_->epoch.load(std::memory_order_acquire) == epoch) Wait(shared_->epoch, epoch, until);
}

void Channel::Agree(const Collective& what) {
  for (int i = 0; i < ranks_; ++i) {
    if (!(shared_->collective[i][turn_ & 1] == what))
      Fail(nccl::kInvalidUsage, "the ranks are in different collectives");
  }
}

void Channel::AllReduce(const Collective& what, char* data, size_t width, const Combine& combine) {
  const size_t at_once = kChunk / width;
  for (size_t from = 0; from < what.count; from += at_once) {
    const size_t some = std::min<size_t>(at_once, what.count - from);
    char* const here = data + from * width;
    std::memcpy(Slot(rank_), here, some * width);
    shared_->collective[rank_][turn_ & 1] = what;
    Barrier();
    Agree(what);
    std::memcpy(here, Slot(0), some * width);
    for (int i = 1; i < ranks_; ++i) combine(here, Slot(i), some);
    ++turn_;
  }
}

void Channel::AllGather(const Collective& what, char* all, size_t bytes) {
  for (size_t from = 0; from < bytes; from += kChunk) {
    const size_t some = std::min(kChunk, bytes - from);
    std::memcpy(Slot(rank_), all + static_cast<size_t>(rank_) * bytes + from, some);
    shared_->collective[rank_][turn_ & 1] = what;
    Barrier();
    Agree(what);
    for (int i = 0; i < ranks_; ++i) {
      if (i != rank_) std::memcpy(all + static_cast<size_t>(i) * bytes + from, Slot(i), some);
    }
    ++turn_;
  }
}

void Channel::Broadcast(const Collective& what, char* data, size_t bytes) {
  for (size_t from = 0; from < bytes; from += kChunk) {
    const size_t some = std::min(kChunk, bytes - from);
    if (rank_ == what.root) std::memcpy(Slot(rank_), data + from, some);
    shared_->collective[rank_][turn_ & 1] = what;
    Barrier();
    Agree(what);
    if (rank_ != what.root) std::memcpy(data + from, Slot(what.root), some);
    ++turn_;
  }
}

bool Channel::Step(Transfer& transfer) {
  if (transfer.done == transfer.bytes) {
    transfer.over = true;
    return true;
  }
  Shared::Box& box = transfer.send ? shared_->boxes[rank_][transfer.peer] : shared_->boxes[transfer.peer][rank_];
  const uint32_t full = box.bytes.load(std::memory_order_acquire);
  if (transfer.send == (full != 0)) return false;
  const size_t some = transfer.send ? std::min(kBox, transfer.bytes - transfer.done) : full;
  if (!transfer.send && some > transfer.bytes - transfer.done)
    Fail(nccl::kInvalidUsage, "more was sent than is wanted");
  char* const here = transfer.data + transfer.done;
  if (transfer.send) {
    std::memcpy(box.data, here, some);
  } else {
    std::memcpy(here, box.data, some);
  }
  box.bytes.store(transfer.send ? static_cast<uint32_t>(some) : 0, std::memory_order_release);
  shared_->bell.fetch_add(1, std::memory_order_release);
  FutexWake(shared_->bell);
  transfer.done += some;
  transfer.over = transfer.done == transfer.bytes;
  return true;
}

void Channel::Exchange(std::vector<Transfer>& transfers) {
  int64_t until = NowMs() + LimitMs();
  for (;;) {
    const uint32_t bell = shared_->bell.load(std::memory_order_acquire);
    bool moved = false;
    bool over = true;
    bool begun[2][kMostRanks] = {};  // only the first of each direction and peer: they come in order
    for (Transfer& transfer : transfers) {
      if (transfer.over || std::exchange(begun[transfer.send ? 1 : 0][transfer.peer], true)) continue;
      moved = Step(transfer) || moved;
      over = over && transfer.over;
    }
    over = over && std::all_of(transfers.begin(), transfers.end(), [](const Transfer& one) { return one.over; });
    if (over) return;
    if (moved) {
      until = NowMs() + LimitMs();
    } else {
      Wait(shared_->bell, bell, until);
    }
  }
}

}  // namespace triodrill::fake_nccl
