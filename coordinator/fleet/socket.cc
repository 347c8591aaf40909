#include "coordinator/fleet/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"

namespace triodrill::fleet {
namespace {

Status CheckDirectory(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) return ErrnoStatus("look at the socket's directory", directory);
  if (facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
    return absl::PermissionDeniedError("listen on " + path + ": its directory must be yours alone; next: chmod 700 " +
                                       directory);
  }
  return Ok();
}

Result<bool> SomebodyListens(const std::string& path) {
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return ErrnoStatus("make a socket to probe", path);
  const absl::Cleanup close_it = [socket_fd] { close(socket_fd); };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return true;
  if (errno == EAGAIN) return true;  // its backlog is full: somebody does
  if (errno == ECONNREFUSED) return false;
  return ErrnoStatus("probe the socket", path);
}

}  // namespace

Status ClearSocketPath(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return absl::InvalidArgumentError("listen on '" + path + "': only the absolute path of a Unix socket will do");
  }
  if (path.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return absl::InvalidArgumentError("listen on " + path +
                                      ": longer than 107 bytes; next: choose a shorter directory");
  }
  TRIODRILL_RETURN_IF_ERROR(CheckDirectory(path));
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return errno == ENOENT ? Ok() : ErrnoStatus("look at", path);
  if (!S_ISSOCK(facts.st_mode)) {
    return absl::AlreadyExistsError("listen on " + path + ": something that is not a socket lies there; left alone");
  }
  TRIODRILL_ASSIGN_OR_RETURN(const bool listens, SomebodyListens(path));
  if (listens) {
    return absl::AlreadyExistsError("listen on " + path + ": another coordinator does; next: end that run first");
  }
  if (unlink(path.c_str()) != 0) return ErrnoStatus("remove the socket of a dead coordinator", path);
  return Ok();
}

}  // namespace triodrill::fleet
