#include "coordinator/load/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "triodrill/schema/yaml.h"
#include "triodrill/text.h"

namespace triodrill {

std::optional<std::string> ReadYamlFile(const std::string& path, std::vector<Diagnostic>& problems) {
  const auto refuse = [&](std::string what, std::string hint) {
    problems.push_back({path, 0, 0, std::move(what), std::move(hint)});
    return std::nullopt;
  };
  const auto system_error = [&](const char* operation) {
    const int error = errno;
    const bool missing = error == ENOENT || error == ENOTDIR;
    return refuse(std::string(absl::ErrnoToStatus(error, Cat("cannot ", operation)).message()),
                  missing ? "check the path" : "check its permissions");
  };
  // O_NONBLOCK: a FIFO in the place of a file must not hang us; it is refused below.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error("open");
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error("look at");
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file", "name a YAML file");
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read");
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxTextBytes) return refuse("larger than 1 MiB", "split the file");
  }
}

}  // namespace triodrill
