#include "injectors/collective/attach.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "injectors/collective/real.h"
#include "injectors/collective/wrapped.h"

namespace triodrill::collective {
namespace {

// Its counters are written, and read by nobody.
constinit Page stand_in{};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int page_fd = -1;
bool fork_handled = false;

__attribute__((constructor)) void AskForAPage() { stand_in.armed.store(kNotAttached, std::memory_order_relaxed); }

void BeforeFork() { ::pthread_mutex_lock(&lock); }
void InParent() { ::pthread_mutex_unlock(&lock); }
// The page is the parent's. It stays mapped: a thread of the parent's may have been in a call.
void InChild() {
  if (page_fd >= 0) ::close(page_fd);
  page_fd = -1;
  stand_in.armed.store(kNotAttached, std::memory_order_relaxed);
  current_page.store(&stand_in, std::memory_order_relaxed);
  ::pthread_mutex_unlock(&lock);
}

int MakeFile() {
  const int fd = ::memfd_create(kPageName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  // Sealed at its size: a reader that maps it can never be sent a SIGBUS.
  if (::fchmod(fd, 0600) == 0 && ::ftruncate(fd, sizeof(Page)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

int32_t RankOfEnvironment() {
  const char* const text = std::getenv("RANK");
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long rank = std::strtol(text, &end, 10);
  return *end == '\0' && rank >= 0 && rank <= INT32_MAX ? static_cast<int32_t>(rank) : -1;
}

Page* MakePage(const void* real) {
  const int fd = MakeFile();
  if (fd < 0) return nullptr;
  void* const memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    ::close(fd);
    return nullptr;
  }
  page_fd = fd;
  Page* const page = new (memory) Page;  // zero, as the kernel made it
  page->layout = kLayout;
  page->bytes = sizeof(Page);
  page->pid = ::getpid();
  page->rank = RankOfEnvironment();
  // Whatever does not say that it works on host memory works on a GPU's.
  const bool host = FindBeside(real, kHostMemorySymbol) != nullptr;
  page->memory.store(host ? kHostMemory : kInDeviceMemory, std::memory_order_relaxed);
  page->magic.store(kMagic, std::memory_order_release);
  return page;
}

}  // namespace

constinit std::atomic<Page*> current_page{&stand_in};

Page& Attach(const void* real) {
  ::pthread_mutex_lock(&lock);
  Page* page = current_page.load(std::memory_order_relaxed);
  if (page == &stand_in && real != nullptr && stand_in.armed.load(std::memory_order_relaxed) == kNotAttached) {
    stand_in.armed.store(0, std::memory_order_relaxed);
    if (!fork_handled) fork_handled = ::pthread_atfork(&BeforeFork, &InParent, &InChild) == 0;
    if (Page* const made = fork_handled ? MakePage(real) : nullptr; made != nullptr) {
      page = made;
      current_page.store(page, std::memory_order_release);
    }
  }
  ::pthread_mutex_unlock(&lock);
  return *page;
}

}  // namespace triodrill::collective
