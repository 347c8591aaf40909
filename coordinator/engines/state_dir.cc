#include "coordinator/engines/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "triodrill/text.h"

namespace triodrill::engines {
namespace {

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Status CheckSocketPath(const std::string& path) {
  if (path.size() < sizeof(sockaddr_un::sun_path)) return Ok();
  return absl::InvalidArgumentError(Cat("state directory: the Unix socket ", path, " has ", path.size(),
                                        " bytes and must have fewer than ", sizeof(sockaddr_un::sun_path),
                                        "; set TRIODRILL_STATE_DIR to a shorter path"));
}

// Whoever may write in the parent could put another directory in our place.
Status CheckParent(const std::string& parent) {
  struct stat found {};
  if (stat(parent.c_str(), &found) != 0) return ErrnoStatus("look at", parent);
  const bool ours = found.st_uid == geteuid() || found.st_uid == 0;
  const bool open_to_others = (found.st_mode & 0022) != 0 && (found.st_mode & S_ISVTX) == 0;
  if (ours && !open_to_others) return Ok();
  return absl::PermissionDeniedError(Cat("state directory: others may write in ", parent,
                                         "; set TRIODRILL_STATE_DIR to a directory below one of your own"));
}

Status MakePrivateDirectories(const std::filesystem::path& directory) {
  if (mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return Ok();
  if (errno != ENOENT || !directory.has_parent_path() || directory.parent_path() == directory)
    return ErrnoStatus("make the state directory", directory.string());
  TRIODRILL_RETURN_IF_ERROR(MakePrivateDirectories(directory.parent_path()));
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoStatus("make the state directory", directory.string());
  return Ok();
}

}  // namespace

std::string DefaultStateDir(std::string_view partition) {
  return DefaultStateDir(partition, EnvironmentValue("TRIODRILL_STATE_DIR"), EnvironmentValue("XDG_RUNTIME_DIR"),
                         geteuid());
}

std::string DefaultStateDir(std::string_view partition, std::string_view state_dir_env,
                            std::string_view xdg_runtime_env, uid_t uid) {
  if (!state_dir_env.empty()) return std::string(state_dir_env);
  if (!xdg_runtime_env.empty()) return Cat(xdg_runtime_env, "/triodrill/", partition);
  if (uid == 0) return Cat("/run/triodrill/", partition);
  return Cat("/tmp/triodrill-", uid, "/", partition);
}

Status PrepareStateDir(const std::string& state_dir) {
  if (state_dir.empty() || state_dir.front() != '/') {
    return absl::InvalidArgumentError(Cat("state directory \"", state_dir, "\": give an absolute path"));
  }
  TRIODRILL_RETURN_IF_ERROR(CheckSocketPath(CoordinatorSocket(state_dir)));
  TRIODRILL_RETURN_IF_ERROR(CheckSocketPath(ShadowSocket(state_dir)));
  TRIODRILL_RETURN_IF_ERROR(MakePrivateDirectories(state_dir));
  TRIODRILL_RETURN_IF_ERROR(CheckParent(std::filesystem::path(state_dir).parent_path().string()));
  struct stat found {};
  if (lstat(state_dir.c_str(), &found) != 0) return ErrnoStatus("look at", state_dir);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 0077) != 0) {
    return absl::PermissionDeniedError(
        Cat("state directory ", state_dir,
            ": must be a directory of yours that is closed to others; chmod 700 it, or set TRIODRILL_STATE_DIR"));
  }
  return Ok();
}

Result<std::unique_ptr<PartitionLock>> PartitionLock::Take(const std::string& state_dir) {
  TRIODRILL_RETURN_IF_ERROR(PrepareStateDir(state_dir));
  return TakeFile(state_dir + "/run.lock", "another run has this partition");
}

Result<std::unique_ptr<PartitionLock>> PartitionLock::TakeForUp(const std::string& state_dir) {
  TRIODRILL_RETURN_IF_ERROR(PrepareStateDir(state_dir));
  return TakeFile(state_dir + "/up.lock", "the shadow partition is being brought up by another process");
}

Result<std::unique_ptr<PartitionLock>> PartitionLock::TakeFile(const std::string& file, const std::string& holder) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return ErrnoStatus("open", file);
  std::unique_ptr<PartitionLock> lock(new PartitionLock(fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("lock", file);
    char text[32] = {};
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    const std::string pid = got > 0 ? std::to_string(std::atoi(text)) : "unknown";
    return absl::FailedPreconditionError(Cat(holder, " (pid ", pid, ", lock ", file, "); wait for it, or abort it"));
  }
  const std::string pid = Cat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus("write", file);
  }
  return lock;
}

PartitionLock::~PartitionLock() { close(fd_); }

}  // namespace triodrill::engines
