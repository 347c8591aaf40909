// One rank of a job that does collectives when it is told to, by lines on its standard input; answers on its standard
// output. Reaches NCCL as it was built to: needed, linked in, or (TRIODRILL_RANK_LOADS_NCCL) loaded by dlopen.
//   rank_program RANK RANKS ID RESULT_FD BLOCKING
//   call OPERATION TYPE COUNT SEED CALLS plain|group|captured    leaves what was sent and received in the result's
//   memory step N          N steps are done split           the calls that follow are made on a part of the
//   communicator: ranks of the same parity abort
#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/collective/rank_calls.h"
#include "triodrill/workload.h"

namespace nccl = triodrill::nccl;
namespace collective = triodrill::collective;

extern "C" {
#define TRIODRILL_FUNCTIONS(F)                                                         \
  F(ncclAllReduce, const void*, void*, size_t, int, int, nccl::Comm, nccl::Stream)     \
  F(ncclReduceScatter, const void*, void*, size_t, int, int, nccl::Comm, nccl::Stream) \
  F(ncclAllGather, const void*, void*, size_t, int, nccl::Comm, nccl::Stream)          \
  F(ncclBroadcast, const void*, void*, size_t, int, int, nccl::Comm, nccl::Stream)     \
  F(ncclReduce, const void*, void*, size_t, int, int, int, nccl::Comm, nccl::Stream)   \
  F(ncclSend, const void*, size_t, int, int, nccl::Comm, nccl::Stream)                 \
  F(ncclRecv, void*, size_t, int, int, nccl::Comm, nccl::Stream)                       \
  F(ncclGroupStart)                                                                    \
  F(ncclGroupEnd)                                                                      \
  F(ncclCommInitRankConfig, nccl::Comm*, int, nccl::UniqueId, int, nccl::Config*)      \
  F(ncclCommSplit, nccl::Comm, int, int, nccl::Comm*, nccl::Config*)                   \
  F(ncclCommGetAsyncError, nccl::Comm, int*)                                           \
  F(ncclCommUserRank, nccl::Comm, int*)                                                \
  F(ncclCommCount, nccl::Comm, int*)                                                   \
  F(ncclCommDestroy, nccl::Comm)                                                       \
  F(ncclCommAbort, nccl::Comm)
#ifdef TRIODRILL_RANK_LOADS_NCCL
#define TRIODRILL_DECLARED(name, ...) static int (*name)(__VA_ARGS__);
#else
#define TRIODRILL_DECLARED(name, ...) int name(__VA_ARGS__);
#endif
TRIODRILL_FUNCTIONS(TRIODRILL_DECLARED)
}

namespace {

using triodrill::testing::Fill;
using triodrill::testing::Sizes;

bool FindNccl() {
#ifdef TRIODRILL_RANK_LOADS_NCCL
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
#define TRIODRILL_FOUND(name, ...) name = reinterpret_cast<int (*)(__VA_ARGS__)>(::dlsym(library, #name));
  TRIODRILL_FUNCTIONS(TRIODRILL_FOUND)
#endif
  return true;
}

struct Job {
  int rank = 0;
  int ranks = 0;
  bool blocking = true;
  char* results = nullptr;
  nccl::Comm comm = nullptr;
};

int Settled(const Job& job, int result) {
  while (result == nccl::kInProgress) {
    ::usleep(200);
    if (ncclCommGetAsyncError(job.comm, &result) != nccl::kSuccess) return nccl::kSystemError;
  }
  return result;
}

struct Buffers {
  char* send;
  char* recv;
};

int Once(const Job& job, collective::Operation operation, int type, uint64_t count, int root, const Buffers& buffers,
         nccl::Stream stream) {
  switch (operation) {
    case collective::kAllReduce:
      return ncclAllReduce(buffers.send, buffers.recv, count, type, nccl::kSum, job.comm, stream);
    case collective::kReduceScatter:
      return ncclReduceScatter(buffers.send, buffers.recv, count, type, nccl::kSum, job.comm, stream);
    case collective::kAllGather:
      return ncclAllGather(buffers.send, buffers.recv, count, type, job.comm, stream);
    case collective::kBroadcast:
      return ncclBroadcast(buffers.send, buffers.recv, count, type, root, job.comm, stream);
    case collective::kReduce:
      return ncclReduce(buffers.send, buffers.recv, count, type, nccl::kSum, root, job.comm, stream);
    default: {
      // Each to the next, and from the one before.
      ncclGroupStart();
      int result = ncclSend(buffers.send, count, type, (job.rank + 1) % job.ranks, job.comm, stream);
      const int received =
          ncclRecv(buffers.recv, count, type, (job.rank + job.ranks - 1) % job.ranks, job.comm, stream);
      if (result == nccl::kSuccess) result = received;
      const int ended = ncclGroupEnd();
      return ended == nccl::kSuccess ? result : ended;
    }
  }
}

int Calls(const Job& job, const std::string& line) {
  int operation = 0;
  int type = 0;
  unsigned long count = 0;
  unsigned long seed = 0;
  unsigned long calls = 0;
  char mode[16] = {};
  if (std::sscanf(line.c_str(), "call %d %d %lu %lu %lu %15s", &operation, &type, &count, &seed, &calls, mode) != 6) {
    return -1;
  }
  const auto which = static_cast<collective::Operation>(operation);
  const size_t width = triodrill::corruption::BytesOf(nccl::TypeOf(type));
  const Sizes sizes = triodrill::testing::SizesOf(which, count, job.ranks);
  const bool group = std::strcmp(mode, "group") == 0;
  static int capturing = 1;
  auto* const stream = std::strcmp(mode, "captured") == 0 ? reinterpret_cast<nccl::Stream>(&capturing) : nullptr;
  int worst = nccl::kSuccess;
  const auto took = [&](int result) {
    if (result != nccl::kSuccess && worst == nccl::kSuccess) worst = result;
  };
  if (group) ncclGroupStart();
  for (uint64_t call = 0; call < calls; ++call) {
    char* const send = job.results + call * (sizes.send + sizes.recv) * width;
    const Buffers buffers{send, send + sizes.send * width};
    Fill(type, seed, call, job.rank, buffers.send, sizes.send);
    std::memset(buffers.recv, triodrill::testing::kUntouched, sizes.recv * width);
    const int root = triodrill::testing::RootOf(seed, job.ranks);
    const int result = Once(job, which, type, count, root, buffers, stream);
    took(group ? result : Settled(job, result));
  }
  if (group) took(Settled(job, ncclGroupEnd()));
  return worst;
}

int Split(Job& job) {
  nccl::Comm part = nullptr;
  const int result = Settled(job, ncclCommSplit(job.comm, job.rank % 2, job.rank, &part, nullptr));
  if (result != nccl::kSuccess) return result;
  ncclCommDestroy(job.comm);
  job.comm = part;
  ncclCommCount(part, &job.ranks);
  return ncclCommUserRank(part, &job.rank);
}

int Loop(const Job& job) {
  pollfd more{STDIN_FILENO, POLLIN, 0};
  const Buffers buffers{job.results, job.results + 256};
  int result = nccl::kSuccess;
  for (uint64_t call = 0; result == nccl::kSuccess && ::poll(&more, 1, 1) == 0; ++call) {
    Fill(nccl::kFloat32, 1, call, job.rank, buffers.send, 64);
    result = Settled(job, Once(job, collective::kAllReduce, nccl::kFloat32, 64, 0, buffers, nullptr));
  }
  return result;
}

int Obey(Job& job, const std::string& line) {
  if (line.rfind("loop", 0) == 0) return Loop(job);
  if (line.rfind("call", 0) == 0) return Calls(job, line);
  if (line.rfind("split", 0) == 0) return Split(job);
  if (line.rfind("step", 0) == 0) {
    triodrill_progress(std::strtoul(line.c_str() + 5, nullptr, 10));
    return 0;
  }
  if (line.rfind("abort", 0) == 0) return ncclCommAbort(std::exchange(job.comm, nullptr));
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 || !FindNccl()) return 64;
  Job job;
  job.rank = std::atoi(argv[1]);
  job.ranks = std::atoi(argv[2]);
  job.blocking = std::atoi(argv[5]) != 0;
  void* const memory = ::mmap(nullptr, triodrill::testing::kResultBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                              std::atoi(argv[4]), static_cast<off_t>(triodrill::testing::kResultBytes) * job.rank);
  if (memory == MAP_FAILED || triodrill_attach(job.rank, job.ranks) != 0) return 65;
  job.results = static_cast<char*>(memory);
  nccl::UniqueId id{};
  std::strncpy(id.internal, argv[3], sizeof(id.internal) - 1);
  nccl::Config config{sizeof(nccl::Config), nccl::kConfigMagic, 22809, job.blocking ? 1 : 0};
  int result = ncclCommInitRankConfig(&job.comm, job.ranks, id, job.rank, &config);
  result = Settled(job, result);
  char line[256];
  do {
    std::printf("done %d\n", result);
    std::fflush(stdout);
    if (std::fgets(line, sizeof(line), stdin) == nullptr) break;
    result = Obey(job, line);
  } while (true);
  if (job.comm != nullptr) ncclCommDestroy(job.comm);
  return 0;
}
