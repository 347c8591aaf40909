// Acts on the armed rules of the page when a call of NCCL matches. Owned by the shim, on the thread that makes the
// call. A process that ends in the middle leaves nothing: its buffers end with it.
#pragma once

#include <cstdint>

#include "injectors/collective/nccl_abi.h"
#include "injectors/collective/page.h"

namespace triodrill::collective {

// One call, as it was made.
struct Call {
  Operation operation;
  const void* send;
  void* recv;
  uint64_t count;
  nccl::DataType type;
  int peer;  // the root or the other end; -1 where there is none
  nccl::Comm comm;
  nccl::Stream stream;
  const void* real;  // the function it is passed on to
};

// What of it is still to be done once NCCL has done it.
struct Owed {
  uint32_t rules = 0;      // a bit each
  bool leave_out = false;  // NCCL is not to see the call
  // Of those rules; else not written: that would cost more than all the rest of a call that is not meant.
  uint64_t number[kMostRules];
  uint64_t token[kMostRules];
};

// Counts the call for each rule that it matches, and does what is to be done before NCCL has it.
Owed ActBefore(Page& page, const Call& call);

// What is to be done after: the call was taken, or the outermost group that holds it has ended well. Waits, bounded by
// the rules' deadlines, until the communicator says that it is done.
void ActAfter(Page& page, const Call& call, const Owed& owed);

}  // namespace triodrill::collective
