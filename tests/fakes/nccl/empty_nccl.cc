// A libnccl.so.2 whose calls do nothing, so that what stands in front of them is all that is measured.
#include "injectors/collective/nccl_abi.h"

#define TRIODRILL_EXPORT extern "C" __attribute__((visibility("default")))

namespace nccl = triodrill::nccl;

static volatile long calls;

TRIODRILL_EXPORT int triodrill_nccl_host_memory;
int triodrill_nccl_host_memory = 1;

TRIODRILL_EXPORT nccl::Result ncclAllReduce(const void* /*send*/, void* /*recv*/, size_t /*count*/,
                                            nccl::DataType /*type*/, nccl::RedOp /*op*/, nccl::Comm /*comm*/,
                                            nccl::Stream /*stream*/) {
  calls = calls + 1;
  return nccl::kSuccess;
}
TRIODRILL_EXPORT nccl::Result ncclGroupStart() {
  calls = calls + 1;
  return nccl::kSuccess;
}
TRIODRILL_EXPORT nccl::Result ncclGroupEnd() {
  calls = calls + 1;
  return nccl::kSuccess;
}
TRIODRILL_EXPORT nccl::Result pncclCommGetAsyncError(nccl::Comm /*comm*/, nccl::Result* state) {
  *state = nccl::kSuccess;
  return nccl::kSuccess;
}
TRIODRILL_EXPORT nccl::Result pncclCommCount(nccl::Comm /*comm*/, int* ranks) {
  *ranks = 4;
  return nccl::kSuccess;
}
TRIODRILL_EXPORT nccl::Result pncclCommUserRank(nccl::Comm /*comm*/, int* rank) {
  *rank = 0;
  return nccl::kSuccess;
}
