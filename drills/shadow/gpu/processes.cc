#include "drills/shadow/gpu/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace triodrill::shadow::gpu {
namespace {

constexpr int kStartBits = 42;  // clock ticks since the start of the machine; 22 bits are left for the pid
constexpr int kStartField = 22;
constexpr uint64_t kStartMask = (uint64_t{1} << kStartBits) - 1;

// Field 22 of /proc/PID/stat; the name in parentheses before it may hold anything.
uint64_t StartOf(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < kStartField; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

}  // namespace

uint64_t ProcessWord(pid_t pid) {
  const uint64_t start = StartOf(pid);
  return start == 0 ? 0 : static_cast<uint64_t>(pid) << kStartBits | (start & kStartMask);
}

pid_t LivingProcess(uint64_t word) {
  const pid_t pid = static_cast<pid_t>(word >> kStartBits);
  return word != 0 && ProcessWord(pid) == word ? pid : 0;
}

uint32_t UtilizationOf(const Gpu& gpu) {
  for (const Word64& word : gpu.processes) {
    if (LivingProcess(word.load()) != 0) return gpu.utilization.load();
  }
  return 0;
}

bool AddProcess(Gpu& gpu, uint64_t word) {
  for (Word64& place : gpu.processes) {
    uint64_t there = place.load();
    if (there == word) return true;
    if (there != 0 && LivingProcess(there) != 0) continue;
    if (place.compare_exchange_strong(there, word)) return true;
  }
  return false;
}

void RemoveProcess(Gpu& gpu, uint64_t word) {
  for (Word64& place : gpu.processes) {
    uint64_t there = word;
    place.compare_exchange_strong(there, 0);
  }
}

}  // namespace triodrill::shadow::gpu
