// The functions of NCCL that the shim stands in front of, for the shim itself and for its audit library.
#pragma once

namespace triodrill::collective {

enum Wrapped : int {
  kWrapAllReduce,
  kWrapReduceScatter,
  kWrapAllGather,
  kWrapBroadcast,
  kWrapReduce,
  kWrapSend,
  kWrapRecv,
  kWrapGroupStart,
  kWrapGroupEnd,
  kWrapCommInitRank,
  kWrapCommInitRankConfig,
  kWrapCommInitAll,
  kWrapCommSplit,
  kWrapCommDestroy,
  kWrapCommAbort,
  kWrappedFunctions,
};

// ncclBcast is not among them: NCCL's own calls ncclBroadcast through its procedure linkage table, and so comes here.
inline constexpr const char* kWrappedNames[kWrappedFunctions] = {
    "ncclAllReduce",
    "ncclReduceScatter",
    "ncclAllGather",
    "ncclBroadcast",
    "ncclReduce",
    "ncclSend",
    "ncclRecv",
    "ncclGroupStart",
    "ncclGroupEnd",
    "ncclCommInitRank",
    "ncclCommInitRankConfig",
    "ncclCommInitAll",
    "ncclCommSplit",
    "ncclCommDestroy",
    "ncclCommAbort",
};

// The shim's array of as many addresses, by this name: what each caller would have been bound to without it.
inline constexpr char kRealSymbol[] = "triodrill_nccl_real";
// An NCCL that works on host memory (one for tests) has a symbol of this name.
inline constexpr char kHostMemorySymbol[] = "triodrill_nccl_host_memory";

}  // namespace triodrill::collective
