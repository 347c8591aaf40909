// The communicators of this process: which rank of how many each is, and in which order they were made. Written when
// one is made or ends; read without a lock, and only where a rule matches. An unknown one (made by a function that is
// not wrapped) is asked of NCCL itself.
#pragma once

#include <cstdint>

#include "injectors/collective/nccl_abi.h"

namespace triodrill::collective {

struct CommFacts {
  int32_t rank;     // -1 = not known: NCCL does not say yet
  int32_t ranks;    // 0 = …
  uint32_t number;  // from 1
};

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
