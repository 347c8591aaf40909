#include "injectors/collective/job_step.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "triodrill/workload/page.h"

namespace triodrill::collective {
namespace {

using JobPage = workload::Page;

uint64_t asked_for = 0;
ino_t inode = 0;
// Pages of before stay mapped: there are as many as a job attached anew.
const JobPage* page = nullptr;

const JobPage* MapIfPage(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  const JobPage* found = nullptr;
  struct stat seen {};
  if (::fstat(fd, &seen) == 0 && seen.st_size == static_cast<off_t>(sizeof(JobPage))) {
    if (page != nullptr && seen.st_ino == inode) {
      found = page;
    } else if (void* const memory = ::mmap(nullptr, sizeof(JobPage), PROT_READ, MAP_SHARED, fd, 0);
               memory != MAP_FAILED) {
      found = static_cast<const JobPage*>(memory);
      if (found->magic.load(std::memory_order_acquire) != workload::kMagic || found->layout != workload::kLayout) {
        ::munmap(memory, sizeof(JobPage));
        found = nullptr;
      }
    }
  }
  if (found != nullptr) inode = seen.st_ino;
  ::close(fd);
  return found;
}

const JobPage* FindPage() {
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return nullptr;
  const JobPage* found = nullptr;
  while (found == nullptr) {
    const dirent* const entry = ::readdir(directory);
    if (entry == nullptr) break;
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
    char link[sizeof(workload::kPageLink)] = {};
    const ssize_t size = ::readlink(path, link, sizeof(link));
    if (size != static_cast<ssize_t>(sizeof(workload::kPageLink)) - 1) continue;
    if (std::memcmp(link, workload::kPageLink, static_cast<size_t>(size)) == 0) found = MapIfPage(path);
  }
  ::closedir(directory);
  return found;
}

}  // namespace

uint64_t StepOfJob(uint64_t token) {
  if (asked_for != token) {
    page = FindPage();
    asked_for = token;
  }
  return page == nullptr ? 0 : page->step.load(std::memory_order_relaxed);
}

}  // namespace triodrill::collective
