// The C functions of triodrill/workload.h: the page's life, the names, and the two stores and the load that a call
// costs where nobody drills.
#pragma GCC visibility push(default)
#include "triodrill/workload.h"
#pragma GCC visibility pop

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "triodrill/workload/corrupt.h"
#include "triodrill/workload/hang.h"
#include "triodrill/workload/page.h"
#include "triodrill/workload/rules.h"

namespace triodrill::workload {
namespace {

// The page while attached. Its address stays mapped after a detach, so that a thread that is still in a call writes
// into memory that nobody looks at.
std::atomic<Page*> attached{nullptr};

// Everything below is under `lock`, which is held while rules act: a tensor that is unregistered is not being written.
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Page* mapping = nullptr;
int page_fd = -1;
bool fork_handled = false;
char phase_names[kMostPhases + 1][kPhaseName];
uint32_t phase_count = 0;
struct Named {
  char name[kTensorName];
  uint32_t entry;  // its place in the page's table
};
Span spans[kMostTensors];
Named named[kMostTensors];
uint32_t span_count = 0;
StaleBlock stale[kMostRules];

class Locked {
 public:
  Locked() { ::pthread_mutex_lock(&lock); }
  ~Locked() { ::pthread_mutex_unlock(&lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

uint64_t Packed(int rank, int world) {
  return uint64_t{static_cast<uint32_t>(rank)} << 32 | static_cast<uint32_t>(world);
}

void DropPage() {
  Page* const page = attached.exchange(nullptr, std::memory_order_acq_rel);
  // What waits for it on a GPU goes on.
  if (page != nullptr) page->armed.store(0, std::memory_order_seq_cst);
  if (page_fd >= 0) ::close(page_fd);
  page_fd = -1;
  span_count = 0;
}

void BeforeFork() { ::pthread_mutex_lock(&lock); }
void InParent() { ::pthread_mutex_unlock(&lock); }
// The page is the parent's, and so is what it knows of GPUs.
void InChild() {
  attached.store(nullptr, std::memory_order_release);
  ForgetGpus();
  DropPage();
  ::pthread_mutex_unlock(&lock);
}

int MakeFile() {
  const int fd = ::memfd_create(kPageName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -errno;
  // Sealed at its size: a reader that maps it can never be sent a SIGBUS.
  if (::fchmod(fd, 0600) == 0 && ::ftruncate(fd, sizeof(Page)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  return -error;
}

bool NameFits(const char* name, size_t room) {
  return name != nullptr && name[0] != '\0' && ::strnlen(name, room) < room;
}

void WriteEntry(Page& page, uint32_t number, const char* name, uint64_t elements, uint32_t dtype) {
  TensorEntry& entry = page.tensors[number];
  const uint32_t sequence = entry.sequence.load(std::memory_order_relaxed);
  // An exchange, so that nothing written below is seen before the number is odd. ThreadSanitizer knows no fences.
  entry.sequence.exchange(sequence + 1, std::memory_order_acq_rel);
  entry.dtype = dtype;
  entry.elements = elements;
  std::memset(entry.name, 0, kTensorName);
  std::strncpy(entry.name, name, kTensorName - 1);
  entry.sequence.store(sequence + 2, std::memory_order_release);
}

uint32_t FindTensor(const char* name) {
  uint32_t i = 0;
  while (i < span_count && std::strcmp(named[i].name, name) != 0) ++i;
  return i;
}

uint32_t FreeEntry(const Page& page) {
  uint32_t i = 0;
  while (i < kMostTensors && page.tensors[i].dtype != 0) ++i;
  return i;
}

void Begin(Page& page, uint32_t id) {
  const Locked locked;
  if (attached.load(std::memory_order_relaxed) != &page) return;
  ActOnRules(page, {.spans = spans,
                    .span_count = span_count,
                    .phase = id,
                    .phase_name = id >= 1 && id <= phase_count ? phase_names[id] : "",
                    .stale = stale});
}

}  // namespace
}  // namespace triodrill::workload

using namespace triodrill::workload;  // NOLINT(google-build-using-namespace): what follows is C

int triodrill_abi(void) { return TRIODRILL_WORKLOAD_ABI; }

int triodrill_attach(int rank, int world) {
  const Locked locked;
  if (attached.load(std::memory_order_relaxed) != nullptr) return -EALREADY;
  if (rank < 0 || world <= 0 || rank >= world) return -EINVAL;
  if (!fork_handled) {
    const int error = ::pthread_atfork(&BeforeFork, &InParent, &InChild);
    if (error != 0) return -error;
    fork_handled = true;
  }
  LeavePage(mapping);
  const int fd = MakeFile();
  if (fd < 0) return fd;
  // Over the page of before, if there was one: see `attached`.
  void* memory = ::mmap(mapping, sizeof(Page), PROT_READ | PROT_WRITE,
                        mapping == nullptr ? MAP_SHARED : MAP_SHARED | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(fd);
    return -error;
  }
  mapping = new (memory) Page;  // zero, as the kernel made it
  page_fd = fd;
  Page& page = *mapping;
  page.layout = kLayout;
  page.bytes = sizeof(Page);
  page.pid = ::getpid();
  page.abi = TRIODRILL_WORKLOAD_ABI;
  page.rank.store(Packed(rank, world), std::memory_order_relaxed);
  std::memcpy(page.phase_names, phase_names, sizeof(phase_names));
  page.phase_count.store(phase_count, std::memory_order_relaxed);
  page.magic.store(kMagic, std::memory_order_release);
  attached.store(&page, std::memory_order_release);
  return 0;
}

void triodrill_detach(void) {
  const Locked locked;
  DropPage();
}

void triodrill_set_rank(int rank, int world) {
  Page* const page = attached.load(std::memory_order_acquire);
  if (page != nullptr && rank >= 0 && rank < world) page->rank.store(Packed(rank, world), std::memory_order_release);
}

int triodrill_register_tensor(const char* name, void* data, uint64_t elements, int dtype) {
  const uint32_t width = dtype > 0 ? WidthOf(static_cast<uint32_t>(dtype)) : 0;
  if (!NameFits(name, kTensorName) || data == nullptr || width == 0) return -EINVAL;
  if (elements == 0 || elements > UINT64_MAX / 16) return -EINVAL;
  const Locked locked;
  Page* const page = attached.load(std::memory_order_relaxed);
  if (page == nullptr) return -ENOTCONN;
  const uint32_t at = FindTensor(name);
  if (at == span_count) {
    const uint32_t entry = FreeEntry(*page);
    if (span_count == kMostTensors || entry == kMostTensors) return -ENOSPC;
    std::strncpy(named[at].name, name, kTensorName - 1);
    named[at].name[kTensorName - 1] = '\0';
    named[at].entry = entry;
    ++span_count;
  }
  spans[at] = {data, elements, static_cast<uint32_t>(dtype), named[at].name};
  WriteEntry(*page, named[at].entry, name, elements, static_cast<uint32_t>(dtype));
  return 0;
}

int triodrill_unregister_tensor(const char* name) {
  if (!NameFits(name, kTensorName)) return -EINVAL;
  const Locked locked;
  Page* const page = attached.load(std::memory_order_relaxed);
  const uint32_t at = FindTensor(name);
  if (page == nullptr || at == span_count) return -ENOENT;
  WriteEntry(*page, named[at].entry, "", 0, 0);
  --span_count;
  if (at != span_count) {
    named[at] = named[span_count];
    spans[at] = spans[span_count];
    spans[at].name = named[at].name;
  }
  return 0;
}

void triodrill_progress(uint64_t step) {
  Page* const page = attached.load(std::memory_order_acquire);
  if (page != nullptr) page->step.store(step, std::memory_order_release);
}

int triodrill_phase_id(const char* name) {
  if (!NameFits(name, kPhaseName)) return -EINVAL;
  const Locked locked;
  for (uint32_t i = 1; i <= phase_count; ++i) {
    if (std::strcmp(phase_names[i], name) == 0) return static_cast<int>(i);
  }
  if (phase_count == kMostPhases) return -ENOSPC;
  const uint32_t id = phase_count + 1;
  std::strncpy(phase_names[id], name, kPhaseName - 1);
  phase_count = id;
  if (Page* const page = attached.load(std::memory_order_relaxed); page != nullptr) {
    std::memcpy(page->phase_names[id], phase_names[id], kPhaseName);
    page->phase_count.store(id, std::memory_order_release);
  }
  return static_cast<int>(id);
}

void triodrill_phase(int id) {
  Page* const page = attached.load(std::memory_order_acquire);
  if (page == nullptr || id <= 0) return;
  page->phase.store(static_cast<uint32_t>(id), std::memory_order_release);
  // One thread begins phases: no need for an exclusive access to the line.
  page->phases.store(page->phases.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (page->armed.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  Begin(*page, static_cast<uint32_t>(id));
}
