// What the ranks of one communicator of the stand-in NCCL share: a file in /dev/shm, mapped by each and unlinked as
// soon as all have it, so that nothing is left however they end. Chunks go through it between barriers. A rank that
// dies is noticed through its pidfd; then, and when a call takes longer than the limit, the communicator has failed for
// good. One thread at a time, but for Abort().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "injectors/collective/nccl_abi.h"

namespace triodrill::fake_nccl {

inline constexpr int kMostRanks = 8;
inline constexpr size_t kChunk = 256 * 1024;
inline constexpr size_t kBox = 64 * 1024;

struct Failure {
  nccl::Result result;
  std::string why;
};

// What a rank believes that the collective is: all must believe the same.
struct Collective {
  uint32_t operation;
  uint32_t type;
  int32_t reduction;
  int32_t root;
  uint64_t count;
  bool operator==(const Collective&) const = default;
};

struct Shared {
  std::atomic<uint32_t> attached;
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> epoch;
  std::atomic<uint32_t> bell;  // rung at each step of a send or a receive
  std::atomic<int32_t> failed;
  std::atomic<int32_t> pids[kMostRanks];
  Collective collective[kMostRanks][2];
  struct Box {
    std::atomic<uint32_t> bytes;  // 0 = empty
    char data[kBox];
  };
  Box boxes[kMostRanks][kMostRanks];  // from, to
  char slots[kMostRanks][2][kChunk];
};

struct Transfer {
  bool send;
  char* data;
  size_t bytes;
  int peer;
  size_t done = 0;
  bool over = false;
};

class Channel {
 public:
  Channel(std::string path, int rank, int ranks);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // All of these throw Failure.
  void Join();
  // `combine(into, from, elements)` folds one rank's elements into the result, in the order of the ranks.
  using Combine = std::function<void(void* into, const void* from, size_t elements)>;
  void AllReduce(const Collective& what, char* data, size_t width, const Combine& combine);
  void AllGather(const Collective& what, char* all, size_t bytes);
  void Broadcast(const Collective& what, char* data, size_t bytes);
  void Exchange(std::vector<Transfer>& transfers);

  // From any thread: a call that waits fails.
  void Abort() { aborted_.store(true); }

 private:
  char* Slot(int rank) { return shared_->slots[rank][turn_ & 1]; }
  void Barrier();
  void Agree(const Collective& what);
  void Wait(std::atomic<uint32_t>& word, uint32_t value, int64_t until_ms);
  bool Step(Transfer& transfer);
  void Fail(nccl::Result result, const std::string& why);

  const std::string path_;
  const int rank_;
  const int ranks_;
  Shared* shared_ = nullptr;
  std::vector<int> peers_;  // pidfds
  uint32_t turn_ = 0;
  std::atomic<bool> aborted_{false};
};

}  // namespace triodrill::fake_nccl
