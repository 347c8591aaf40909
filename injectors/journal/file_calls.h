// The system calls that the journal makes, so that tests can let each of them fail.
#pragma once

#include <sys/types.h>

#include <functional>

namespace triodrill {

struct FileCalls {
  std::function<int(int directory, const char* name, int flags, mode_t mode)> open;
  std::function<ssize_t(int fd, const void* bytes, size_t size)> write;
  std::function<int(int fd)> sync;
  std::function<int(int directory, const char* from, const char* to)> rename;
  std::function<int(int directory, const char* name)> unlink;
};

// The kernel's own.
const FileCalls& SystemFileCalls();

}  // namespace triodrill
