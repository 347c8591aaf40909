#include "drills/shadow/gpu/page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "drills/shadow/gpu/nvml_abi.h"

namespace triodrill::shadow::gpu {
namespace {

uint64_t Mix(uint64_t digest, const void* bytes, size_t count) {
  const auto* const byte = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < count; ++i) digest = (digest ^ byte[i]) * 0x100000001b3;
  return digest;
}

const char* ProblemOf(const State& state) {
  if (state.magic != kMagic) return "is no state of shadow GPUs";
  if (state.version != kVersion || state.bytes != sizeof(State)) return "is the state of another version";
  if (state.count < 1 || state.count > kMostGpus || state.digest != DigestOf(state)) return "is damaged";
  return nullptr;
}

Mapping Refuse(const char* problem, int error) {
  errno = error;
  return {nullptr, false, problem};
}

void Wake(State& state) {
  state.events.fetch_add(1);
  syscall(SYS_futex, &state.events, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

uint64_t DigestOf(const State& state) {
  uint64_t digest = Mix(0xcbf29ce484222325, &state.count, sizeof state.count);
  for (const Gpu& gpu : state.gpus) digest = Mix(digest, &gpu.identity, sizeof gpu.identity);
  return digest;
}

Mapping MapState(const char* path, bool write) {
  bool writable = true;
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && !write && (errno == EACCES || errno == EROFS)) {
    writable = false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  }
  if (fd < 0) return Refuse("cannot be opened", errno);
  struct stat facts {};
  const bool whole = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == sizeof(State);
  void* const mapped =
      whole ? mmap(nullptr, sizeof(State), writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0)
            : MAP_FAILED;
  const int error = errno;
  close(fd);
  if (!whole) return Refuse("has not the size of a state of shadow GPUs", 0);
  if (mapped == MAP_FAILED) return Refuse("cannot be mapped", error);
  State* const state = static_cast<State*>(mapped);
  if (const char* const problem = ProblemOf(*state)) {
    Unmap(state);
    return Refuse(problem, 0);
  }
  return {state, writable, nullptr};
}

void Unmap(State* state) { munmap(state, sizeof(State)); }

void PublishXid(State& state, Gpu& gpu, uint32_t code) {
  uint64_t before = gpu.xid.load();
  while (!gpu.xid.compare_exchange_weak(before, PackRange(LowOf(before) + 1, code))) {
  }
  Wake(state);
}

void AddEcc(State& state, Gpu& gpu, uint32_t type, uint64_t errors) {
  gpu.ecc[type][nvml::kVolatile].fetch_add(errors);
  gpu.ecc[type][nvml::kAggregate].fetch_add(errors);
  Wake(state);
}

void WaitForEvent(const State& state, uint32_t seen, int64_t nanos) {
  const timespec limit{nanos / 1'000'000'000, nanos % 1'000'000'000};
  syscall(SYS_futex, &state.events, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace triodrill::shadow::gpu
