// libtriodrill_nccl.so: what a program that is started with LD_PRELOAD calls in the place of NCCL. Where nobody drills,
// a call counts itself in a page of shared memory, looks at one word there and goes on to NCCL; all else is elsewhere.
#include <atomic>
#include <type_traits>

#include "injectors/collective/act.h"
#include "injectors/collective/attach.h"
#include "injectors/collective/communicators.h"
#include "injectors/collective/group.h"
#include "injectors/collective/nccl_abi.h"
#include "injectors/collective/real.h"

#define TRIODRILL_EXPORT extern "C" __attribute__((visibility("default")))

namespace triodrill::collective {
namespace {

using nccl::Comm;
using nccl::DataType;
using nccl::RedOp;
using nccl::Result;
using nccl::Stream;

// The real function, found at its first call. The pointer begins at a function that finds it, so a call need not ask.
template <Wrapped kFunction, typename... Args>
struct Real {
  using Function = Result (*)(Args...);

  static Result First(Args... args) {
    const Function found = Find(__builtin_return_address(0));
    return found == nullptr ? nccl::kSystemError : found(args...);
  }
  static Function Find(const void* caller) {
    Function found = known.load(std::memory_order_relaxed);
    if (found != &First) return found;
    found = reinterpret_cast<Function>(FindReal(kFunction, caller));
    if (found != nullptr) known.store(found, std::memory_order_relaxed);
    return found;
  }
  static Function Known() { return known.load(std::memory_order_relaxed); }

  static constinit std::atomic<Function> known;
};
template <Wrapped kFunction, typename... Args>
constinit std::atomic<Result (*)(Args...)> Real<kFunction, Args...>::known{&Real<kFunction, Args...>::First};

using AllReduce = Real<kWrapAllReduce, const void*, void*, size_t, DataType, RedOp, Comm, Stream>;
using ReduceScatter = Real<kWrapReduceScatter, const void*, void*, size_t, DataType, RedOp, Comm, Stream>;
using AllGather = Real<kWrapAllGather, const void*, void*, size_t, DataType, Comm, Stream>;
using Broadcast = Real<kWrapBroadcast, const void*, void*, size_t, DataType, int, Comm, Stream>;
using Reduce = Real<kWrapReduce, const void*, void*, size_t, DataType, RedOp, int, Comm, Stream>;
using Send = Real<kWrapSend, const void*, size_t, DataType, int, Comm, Stream>;
using Recv = Real<kWrapRecv, void*, size_t, DataType, int, Comm, Stream>;
using GroupStart = Real<kWrapGroupStart>;
using GroupEnd = Real<kWrapGroupEnd>;
using InitRank = Real<kWrapCommInitRank, Comm*, int, nccl::UniqueId, int>;
using InitRankConfig = Real<kWrapCommInitRankConfig, Comm*, int, nccl::UniqueId, int, nccl::Config*>;
using InitAll = Real<kWrapCommInitAll, Comm*, int, const int*>;
using Split = Real<kWrapCommSplit, Comm, int, int, Comm*, nccl::Config*>;
using Destroy = Real<kWrapCommDestroy, Comm>;
using Abort = Real<kWrapCommAbort, Comm>;

// Counts the call; whether there is more to do than to pass it on.
[[gnu::always_inline]] inline bool IsWatched(Operation operation) {
  Page& page = CurrentPage();
  std::atomic<uint64_t>& calls = page.calls[operation];
  calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return __builtin_expect(page.armed.load(std::memory_order_relaxed) != 0, 0);
}

// A call in the shape of each of the functions.
Call CallOf(Operation operation, const void* send, void* recv, size_t count, DataType type, int op_or_root, Comm comm,
            Stream stream) {
  return {operation, send, recv, count, type, operation == kBroadcast ? op_or_root : -1, comm, stream, nullptr};
}
Call CallOf(Operation operation, const void* send, void* recv, size_t count, DataType type, Comm comm, Stream stream) {
  return {operation, send, recv, count, type, -1, comm, stream, nullptr};
}
Call CallOf(Operation operation, const void* send, void* recv, size_t count, DataType type, RedOp /*op*/, int root,
            Comm comm, Stream stream) {
  return {operation, send, recv, count, type, root, comm, stream, nullptr};
}
Call CallOf(Operation operation, const void* send, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return {operation, send, nullptr, count, type, peer, comm, stream, nullptr};
}
Call CallOf(Operation operation, void* recv, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return {operation, nullptr, recv, count, type, peer, comm, stream, nullptr};
}

Comm CommOf(const void* /*send*/, void* /*recv*/, size_t /*count*/, DataType /*type*/, int /*op_or_root*/, Comm comm,
            Stream /*stream*/) {
  return comm;
}
Comm CommOf(const void* /*send*/, void* /*recv*/, size_t /*count*/, DataType /*type*/, Comm comm, Stream /*stream*/) {
  return comm;
}
Comm CommOf(const void* /*send*/, void* /*recv*/, size_t /*count*/, DataType /*type*/, RedOp /*op*/, int /*root*/,
            Comm comm, Stream /*stream*/) {
  return comm;
}
Comm CommOf(const void* /*data*/, size_t /*count*/, DataType /*type*/, int /*peer*/, Comm comm, Stream /*stream*/) {
  return comm;
}

// Whether a rule is for such an operation, and not for another communicator, as far as that is known.
[[gnu::always_inline]] inline bool MayMatch(const RuleOrder& order, Operation operation, Comm comm) {
  if ((order.operations >> operation & 1) == 0) return false;
  if (order.comm_ranks == 0 && order.comm_rank < 0 && order.communicator == 0) return true;
  const KnownComm* const known = FindKnown(comm);
  return known == nullptr || known->Matches(order.communicator, order.comm_ranks, order.comm_rank);
}

// A rule may act in the call, or a page is still to be made.
template <typename Function, Operation kOperation, typename... Args>
[[gnu::noinline]] Result Drilled(Args... args) {
  const auto real = Function::Find(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  Call call = CallOf(kOperation, args...);
  call.real = reinterpret_cast<const void*>(real);
  Page* page = &CurrentPage();
  if (page->armed.load(std::memory_order_relaxed) == kNotAttached) {
    page = &Attach(call.real);
    page->calls[kOperation].fetch_add(1, std::memory_order_relaxed);
  }
  const Owed owed = ActBefore(*page, call);
  if (owed.leave_out) return nccl::kSuccess;
  const Result result = real(args...);
  if (owed.rules == 0 || (result != nccl::kSuccess && result != nccl::kInProgress)) return result;
  if (!OweToGroup(call, owed)) ActAfter(*page, call, owed);
  return result;
}

// Something is armed: mostly for other calls. This and the one above have the shape of the function that they stand in
// for, so that they are jumped to, and who called that is who called them.
template <typename Function, Operation kOperation, typename... Args>
[[gnu::noinline]] Result Sifted(Args... args) {
  const Page& page = CurrentPage();
  const uint32_t armed = page.armed.load(std::memory_order_acquire);
  for (uint32_t left = armed; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(left));
    if (i >= kMostRules || MayMatch(page.rules[i].order, kOperation, CommOf(args...))) {
      return Drilled<Function, kOperation>(args...);
    }
  }
  return Function::Known()(args...);
}

// For the functions that do not count: nullptr if NCCL has no such function.
template <typename Function>
auto Attached(const void* caller) {
  const auto real = Function::Find(caller);
  if (CurrentPage().armed.load(std::memory_order_relaxed) == kNotAttached) {
    Attach(reinterpret_cast<const void*>(real));
  }
  return real;
}

bool WasTaken(Result result) { return result == nccl::kSuccess || result == nccl::kInProgress; }

}  // namespace
}  // namespace triodrill::collective

using namespace triodrill::collective;  // NOLINT(google-build-using-namespace): what follows is C
namespace nccl = triodrill::nccl;

TRIODRILL_EXPORT nccl::Result ncclAllReduce(const void* send, void* recv, size_t count, nccl::DataType type,
                                            nccl::RedOp op, nccl::Comm comm, nccl::Stream stream) {
  if (!IsWatched(kAllReduce)) return AllReduce::Known()(send, recv, count, type, op, comm, stream);
  return Sifted<AllReduce, kAllReduce>(send, recv, count, type, op, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclReduceScatter(const void* send, void* recv, size_t count, nccl::DataType type,
                                                nccl::RedOp op, nccl::Comm comm, nccl::Stream stream) {
  if (!IsWatched(kReduceScatter)) return ReduceScatter::Known()(send, recv, count, type, op, comm, stream);
  return Sifted<ReduceScatter, kReduceScatter>(send, recv, count, type, op, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclAllGather(const void* send, void* recv, size_t count, nccl::DataType type,
                                            nccl::Comm comm, nccl::Stream stream) {
  if (!IsWatched(kAllGather)) return AllGather::Known()(send, recv, count, type, comm, stream);
  return Sifted<AllGather, kAllGather>(send, recv, count, type, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclBroadcast(const void* send, void* recv, size_t count, nccl::DataType type, int root,
                                            nccl::Comm comm, nccl::Stream stream) {
  if (!IsWatched(kBroadcast)) return Broadcast::Known()(send, recv, count, type, root, comm, stream);
  return Sifted<Broadcast, kBroadcast>(send, recv, count, type, root, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclReduce(const void* send, void* recv, size_t count, nccl::DataType type,
                                         nccl::RedOp op, int root, nccl::Comm comm, nccl::Stream stream) {
  if (!IsWatched(kReduce)) return Reduce::Known()(send, recv, count, type, op, root, comm, stream);
  return Sifted<Reduce, kReduce>(send, recv, count, type, op, root, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclSend(const void* send, size_t count, nccl::DataType type, int peer, nccl::Comm comm,
                                       nccl::Stream stream) {
  if (!IsWatched(kSend)) return Send::Known()(send, count, type, peer, comm, stream);
  return Sifted<Send, kSend>(send, count, type, peer, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclRecv(void* recv, size_t count, nccl::DataType type, int peer, nccl::Comm comm,
                                       nccl::Stream stream) {
  if (!IsWatched(kRecv)) return Recv::Known()(recv, count, type, peer, comm, stream);
  return Sifted<Recv, kRecv>(recv, count, type, peer, comm, stream);
}

TRIODRILL_EXPORT nccl::Result ncclGroupStart() {
  const auto real = GroupStart::Find(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real();
  if (result == nccl::kSuccess) EnterGroup();
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclGroupEnd() {
  const auto real = GroupEnd::Find(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real();
  LeaveGroup(CurrentPage(), WasTaken(result));
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclCommInitRank(nccl::Comm* comm, int ranks, nccl::UniqueId id, int rank) {
  const auto real = Attached<InitRank>(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real(comm, ranks, id, rank);
  if (WasTaken(result)) AddComm(*comm, rank, ranks);
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclCommInitRankConfig(nccl::Comm* comm, int ranks, nccl::UniqueId id, int rank,
                                                     nccl::Config* config) {
  const auto real = Attached<InitRankConfig>(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real(comm, ranks, id, rank, config);
  if (WasTaken(result)) AddComm(*comm, rank, ranks);
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclCommInitAll(nccl::Comm* comms, int count, const int* devices) {
  const auto real = Attached<InitAll>(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real(comms, count, devices);
  if (WasTaken(result)) {
    for (int i = 0; i < count; ++i) AddComm(comms[i], i, count);
  }
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclCommSplit(nccl::Comm comm, int color, int key, nccl::Comm* made,
                                            nccl::Config* config) {
  const auto real = Attached<Split>(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  const nccl::Result result = real(comm, color, key, made, config);
  if (WasTaken(result) && made != nullptr) AddComm(*made, -1, 0);
  return result;
}

TRIODRILL_EXPORT nccl::Result ncclCommDestroy(nccl::Comm comm) {
  const auto real = Destroy::Find(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  DropComm(comm);
  ForgetInGroup(comm);
  return real(comm);
}

TRIODRILL_EXPORT nccl::Result ncclCommAbort(nccl::Comm comm) {
  const auto real = Abort::Find(__builtin_return_address(0));
  if (real == nullptr) return nccl::kSystemError;
  DropComm(comm);
  ForgetInGroup(comm);
  return real(comm);
}
