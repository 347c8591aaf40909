#include "drills/shadow/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "drills/shadow/owned_fd.h"

namespace triodrill::shadow {

Result<std::string> ReadWholeFile(const std::string& path) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus("open", path);
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t got = read(fd.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", path);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
  }
}

}  // namespace triodrill::shadow
