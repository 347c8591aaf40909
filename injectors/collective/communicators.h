// The communicators of this process: which rank of how many each is, and in which order they were made. Written when
// one is made or ends; read without a lock, and only where a rule matches. An unknown one (made by a function that is
// not wrapped) is asked of NCCL itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "injectors/collective/nccl_abi.h"

namespace triodrill::collective {

struct CommFacts {
  int32_t rank;     // -1 = not known: NCCL does not say yet
  int32_t ranks;    // 0 = …
  uint32_t number;  // from 1
};

// A place of the table. Written when a communicator is made or ends.
struct KnownComm {
  std::atomic<nccl::Comm> comm;
  std::atomic<int32_t> rank;
  std::atomic<int32_t> ranks;
  std::atomic<uint32_t> number;

  // 0, 0 and -1: any. True, too, as long as NCCL does not say.
  bool Matches(uint32_t wanted_number, int32_t wanted_ranks, int32_t wanted_rank) const {
    const int32_t size = ranks.load(std::memory_order_relaxed);
    if (size == 0) return true;
    return (wanted_ranks == 0 || wanted_ranks == size) &&
           (wanted_rank < 0 || wanted_rank == rank.load(std::memory_order_relaxed)) &&
           (wanted_number == 0 || wanted_number == number.load(std::memory_order_relaxed));
  }
};
// More than that are asked of NCCL each time, and have no number.
inline constexpr int kMostComms = 256;
extern KnownComm known_comms[kMostComms];
extern std::atomic<int> known_places;  // that ever were in use

inline KnownComm* FindKnown(nccl::Comm comm) {
  const int count = known_places.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (known_comms[i].comm.load(std::memory_order_acquire) == comm) return &known_comms[i];
  }
  return nullptr;
}

// `rank` and `ranks` as they were asked for; -1 and 0: unknown until NCCL says.
void AddComm(nccl::Comm comm, int rank, int ranks);
// Before NCCL frees it: the next one may have its address.
void DropComm(nccl::Comm comm);

// `real` is a function of the NCCL that the communicator is of.
CommFacts FactsOf(nccl::Comm comm, const void* real);

// Whether all that was asked of the communicator has been done, as NCCL itself says: kInProgress, kSuccess or an error.
// An error where it cannot be asked.
nccl::Result StateOf(nccl::Comm comm, const void* real);

}  // namespace triodrill::collective
