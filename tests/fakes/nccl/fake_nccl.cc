// libnccl.so.2 for machines without a GPU: NCCL's name, symbols (a weak ncclX and a pncclX of each) and rules, on host
// memory and across processes. Collectives are done within the call, or at the end of the outermost group, or, on a
// communicator that does not block, some time later on another thread, as its configuration asks. Ranks that are in
// different collectives are told so, where the real one would hang. Environment: TRIODRILL_FAKE_NCCL_TIMEOUT_MS,
// TRIODRILL_FAKE_NCCL_LAG_MS (what a communicator that does not block waits before each piece of work).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <time.h>
#include <unistd.h>

#include "injectors/collective/nccl_abi.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/communicator.h"

// NAME is declared weak, an alias of pNAME, whose body follows.
#define NCCL_API(ret, name, ...)                                                                            \
  extern "C" __attribute__((visibility("default"), nothrow)) ret p##name(__VA_ARGS__);                      \
  extern "C" __attribute__((visibility("default"), weak, nothrow, alias("p" #name))) ret name(__VA_ARGS__); \
  __attribute__((nothrow)) ret p##name(__VA_ARGS__)

namespace {

namespace nccl = triodrill::nccl;
namespace fake = triodrill::fake_nccl;
using nccl::Comm;
using nccl::DataType;
using nccl::RedOp;
using nccl::Result;
using nccl::Stream;

enum : uint32_t { kAllReduce = 1, kReduceScatter, kAllGather, kBroadcast, kReduce, kSplit };

size_t WidthOf(DataType type) { return triodrill::corruption::BytesOf(nccl::TypeOf(type)); }

Result Check(const void* data, size_t count, DataType type, Comm comm) {
  if (comm == nullptr || WidthOf(type) == 0 || (count > 0 && data == nullptr)) return nccl::kInvalidArgument;
  return comm->error.load();
}

fake::Collective Described(uint32_t operation, size_t count, DataType type, RedOp op, int root) {
  return {operation, static_cast<uint32_t>(type), op, root, count};
}

void Reduced(Comm comm, const fake::Collective& what, char* data) {
  const auto type = static_cast<DataType>(what.type);
  comm->channel->AllReduce(what, data, WidthOf(type), [&](void* into, const void* from, size_t elements) {
    fake::Combine(type, what.reduction, into, from, elements);
  });
  if (what.reduction == nccl::kAvg) fake::Divide(type, data, what.count, comm->ranks);
}

Result Init(Comm* made, int ranks, const nccl::UniqueId& id, int rank, bool blocking) {
  if (made == nullptr || ranks < 1 || ranks > fake::kMostRanks || rank < 0 || rank >= ranks) {
    return nccl::kInvalidArgument;
  }
  auto* const comm = new nccl::ncclComm;
  comm->path = id.internal;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->blocking = blocking;
  *made = comm;
  return fake::Do(comm, [comm] {
    comm->channel = std::make_unique<fake::Channel>(comm->path, comm->rank, comm->ranks);
    comm->channel->Join();
  });
}

bool IsBlocking(const nccl::Config* config) {
  return config == nullptr || config->magic != nccl::kConfigMagic || config->blocking != 0;
}

struct Share {
  int32_t color;
  int32_t key;
};

// Who of the ranks has the color, by key and then by rank.
void JoinPart(Comm parent, Comm made, int color, int key) {
  std::vector<Share> shares(static_cast<size_t>(parent->ranks));
  shares[static_cast<size_t>(parent->rank)] = {color, key};
  parent->channel->AllGather(Described(kSplit, sizeof(Share), nccl::kInt8, 0, 0),
                             reinterpret_cast<char*>(shares.data()), sizeof(Share));
  const int number = ++parent->splits;
  if (made == nullptr) return;
  std::vector<int> part;
  for (int i = 0; i < parent->ranks; ++i) {
    if (shares[static_cast<size_t>(i)].color == color) part.push_back(i);
  }
  std::stable_sort(part.begin(), part.end(), [&](int a, int b) {
    return shares[static_cast<size_t>(a)].key < shares[static_cast<size_t>(b)].key;
  });
  made->path = parent->path + "-" + std::to_string(number) + "-" + std::to_string(color);
  made->rank = static_cast<int>(std::find(part.begin(), part.end(), parent->rank) - part.begin());
  made->ranks = static_cast<int>(part.size());
  made->channel = std::make_unique<fake::Channel>(made->path, made->rank, made->ranks);
  made->channel->Join();
}

}  // namespace

#ifndef TRIODRILL_FAKE_IN_DEVICE_MEMORY
// By this the shim knows that buffers are in host memory.
extern "C" __attribute__((visibility("default"))) int triodrill_nccl_host_memory;
int triodrill_nccl_host_memory = 1;
#endif

NCCL_API(Result, ncclGetVersion, int* version) {
  *version = 22809;
  return nccl::kSuccess;
}
NCCL_API(Result, ncclGetUniqueId, nccl::UniqueId* id) {
  static std::atomic<int> made{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::memset(id, 0, sizeof(*id));
  std::snprintf(id->internal, sizeof(id->internal), "/dev/shm/triodrill-fake-nccl-%d-%d-%ld", ::getpid(), ++made,
                now.tv_nsec);
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommInitRank, Comm* comm, int ranks, nccl::UniqueId id, int rank) {
  return Init(comm, ranks, id, rank, true);
}
NCCL_API(Result, ncclCommInitRankConfig, Comm* comm, int ranks, nccl::UniqueId id, int rank, nccl::Config* config) {
  return Init(comm, ranks, id, rank, IsBlocking(config));
}
NCCL_API(Result, ncclCommInitAll, Comm* comms, int count, const int* /*devices*/) {
  nccl::UniqueId id{};
  pncclGetUniqueId(&id);
  fake::GroupStart();
  for (int i = 0; i < count; ++i) {
    if (const Result result = Init(&comms[i], count, id, i, true); result != nccl::kSuccess) return result;
  }
  return fake::GroupEnd();
}
NCCL_API(Result, ncclCommSplit, Comm comm, int color, int key, Comm* made, nccl::Config* config) {
  if (comm == nullptr || made == nullptr) return nccl::kInvalidArgument;
  Comm const part = color < 0 ? nullptr : new (std::nothrow) nccl::ncclComm;
  if (color >= 0 && part == nullptr) return nccl::kSystemError;
  if (part != nullptr) part->blocking = config == nullptr ? comm->blocking : IsBlocking(config);
  *made = part;
  return fake::Do(comm, [comm, part, color, key] { JoinPart(comm, part, color, key); });
}
NCCL_API(Result, ncclCommFinalize, Comm comm) { return comm == nullptr ? nccl::kInvalidArgument : nccl::kSuccess; }
NCCL_API(Result, ncclCommDestroy, Comm comm) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  fake::Free(comm, false);
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommAbort, Comm comm) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  fake::Free(comm, true);
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommCount, Comm comm, int* ranks) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  if (fake::StateOf(comm) == nccl::kInProgress) return nccl::kInProgress;
  *ranks = comm->ranks;
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommUserRank, Comm comm, int* rank) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  if (fake::StateOf(comm) == nccl::kInProgress) return nccl::kInProgress;
  *rank = comm->rank;
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommCuDevice, Comm comm, int* device) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  *device = 0;
  return nccl::kSuccess;
}
NCCL_API(Result, ncclCommGetAsyncError, Comm comm, Result* error) {
  if (comm == nullptr) return nccl::kInvalidArgument;
  *error = fake::StateOf(comm);
  return nccl::kSuccess;
}
NCCL_API(const char*, ncclGetErrorString, Result result) {
  switch (result) {
    case nccl::kSuccess:
      return "no error";
    case nccl::kInvalidUsage:
      return "invalid usage";
    case nccl::kRemoteError:
      return "remote process exited or there was a network error";
    case nccl::kInProgress:
      return "NCCL operation in progress";
    default:
      return "unhandled error";
  }
}
NCCL_API(const char*, ncclGetLastError, Comm /*comm*/) { return fake::LastError(); }
NCCL_API(Result, ncclMemAlloc, void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory == nullptr ? nccl::kSystemError : nccl::kSuccess;
}
NCCL_API(Result, ncclMemFree, void* memory) {
  std::free(memory);
  return nccl::kSuccess;
}

NCCL_API(Result, ncclAllReduce, const void* send, void* recv, size_t count, DataType type, RedOp op, Comm comm,
         Stream /*stream*/) {
  if (const Result bad = Check(send, count, type, comm); bad != nccl::kSuccess) return bad;
  return fake::Do(comm, [=] {
    if (send != recv) std::memcpy(recv, send, count * WidthOf(type));
    Reduced(comm, Described(kAllReduce, count, type, op, 0), static_cast<char*>(recv));
  });
}
NCCL_API(Result, ncclReduceScatter, const void* send, void* recv, size_t count, DataType type, RedOp op, Comm comm,
         Stream /*stream*/) {
  if (const Result bad = Check(send, count, type, comm); bad != nccl::kSuccess) return bad;
  return fake::Do(comm, [=] {
    const size_t bytes = count * WidthOf(type);
    const auto* const from = static_cast<const char*>(send);
    std::vector<char> all(from, from + bytes * static_cast<size_t>(comm->ranks));
    Reduced(comm, Described(kReduceScatter, count * static_cast<size_t>(comm->ranks), type, op, 0), all.data());
    std::memcpy(recv, all.data() + bytes * static_cast<size_t>(comm->rank), bytes);
  });
}
NCCL_API(Result, ncclAllGather, const void* send, void* recv, size_t count, DataType type, Comm comm,
         Stream /*stream*/) {
  if (const Result bad = Check(send, count, type, comm); bad != nccl::kSuccess) return bad;
  return fake::Do(comm, [=] {
    const size_t bytes = count * WidthOf(type);
    char* const own = static_cast<char*>(recv) + bytes * static_cast<size_t>(comm->rank);
    if (own != send) std::memcpy(own, send, bytes);
    comm->channel->AllGather(Described(kAllGather, count, type, 0, 0), static_cast<char*>(recv), bytes);
  });
}
NCCL_API(Result, ncclBroadcast, const void* send, void* recv, size_t count, DataType type, int root, Comm comm,
         Stream /*stream*/) {
  if (const Result bad = Check(recv, count, type, comm); bad != nccl::kSuccess) return bad;
  return fake::Do(comm, [=] {
    const size_t bytes = count * WidthOf(type);
    if (comm->rank == root && send != recv) std::memcpy(recv, send, bytes);
    comm->channel->Broadcast(Described(kBroadcast, count, type, 0, root), static_cast<char*>(recv), bytes);
  });
}
// Through the linkage table, as the real one does: whoever stands before ncclBroadcast sees this, too.
NCCL_API(Result, ncclBcast, void* data, size_t count, DataType type, int root, Comm comm, Stream stream) {
  return ncclBroadcast(data, data, count, type, root, comm, stream);
}
NCCL_API(Result, ncclReduce, const void* send, void* recv, size_t count, DataType type, RedOp op, int root, Comm comm,
         Stream /*stream*/) {
  if (const Result bad = Check(send, count, type, comm); bad != nccl::kSuccess) return bad;
  return fake::Do(comm, [=] {
    const auto* const from = static_cast<const char*>(send);
    std::vector<char> all(from, from + count * WidthOf(type));
    Reduced(comm, Described(kReduce, count, type, op, root), all.data());
    if (comm->rank == root) std::memcpy(recv, all.data(), all.size());
  });
}
NCCL_API(Result, ncclSend, const void* send, size_t count, DataType type, int peer, Comm comm, Stream /*stream*/) {
  if (const Result bad = Check(send, count, type, comm); bad != nccl::kSuccess) return bad;
  if (peer < 0 || peer >= comm->ranks) return nccl::kInvalidArgument;
  auto* const data = static_cast<char*>(const_cast<void*>(send));
  return fake::DoTransfer(comm, {true, data, count * WidthOf(type), peer});
}
NCCL_API(Result, ncclRecv, void* recv, size_t count, DataType type, int peer, Comm comm, Stream /*stream*/) {
  if (const Result bad = Check(recv, count, type, comm); bad != nccl::kSuccess) return bad;
  if (peer < 0 || peer >= comm->ranks) return nccl::kInvalidArgument;
  return fake::DoTransfer(comm, {false, static_cast<char*>(recv), count * WidthOf(type), peer});
}
NCCL_API(Result, ncclGroupStart) {
  fake::GroupStart();
  return nccl::kSuccess;
}
NCCL_API(Result, ncclGroupEnd) { return fake::GroupEnd(); }
