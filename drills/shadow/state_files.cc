#include "drills/shadow/state_files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

constexpr std::chrono::seconds kDyingWithin{5};  // a killed sandbox needs a moment to be gone
constexpr int kLookAgainMs = 20;

std::string PidFile(const std::string& state_dir) { return state_dir + "/shadow.pid"; }

pid_t ReadPid(const std::string& state_dir) {
  std::ifstream in(PidFile(state_dir));
  pid_t pid = 0;
  in >> pid;
  return in.fail() ? 0 : pid;
}

Status WriteFile(const std::string& file, const std::string& text, mode_t mode) {
  const std::string aside = file + ".new";
  {
    const OwnedFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!fd.valid()) return ErrnoStatus("open", aside);
    if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return ErrnoStatus("write", aside);
  }
  if (rename(aside.c_str(), file.c_str()) != 0) return ErrnoStatus("rename to", file);
  return Ok();
}

}  // namespace

Status CheckStateDir(const std::string& state_dir) {
  if (mkdir(state_dir.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus("make the state directory", state_dir);
  struct stat found {};
  if (lstat(state_dir.c_str(), &found) != 0) return ErrnoStatus("look at", state_dir);
  if (!S_ISDIR(found.st_mode))
    return absl::FailedPreconditionError(Cat("state directory ", state_dir, ": is not a directory"));
  if (found.st_uid != geteuid() || (found.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        Cat("state directory ", state_dir,
            ": must belong to the caller and be closed to others; chmod 700 it, or name another"));
  }
  return Ok();
}

Result<OwnedFd> TakeLock(const std::string& state_dir, Clock& clock) {
  const std::string file = state_dir + "/shadow.lock";
  OwnedFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("open", file);
  const TimePoint deadline = clock.Now() + kDyingWithin;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("lock", file);
    const pid_t holder = ReadPid(state_dir);
    const bool alive = holder > 0 && kill(holder, 0) == 0;
    if (alive || clock.Now() >= deadline) {
      return absl::FailedPreconditionError(
          Cat("a shadow partition is up already on ", state_dir, " (supervisor pid ", holder, "); take it down first"));
    }
    poll(nullptr, 0, kLookAgainMs);
  }
  return fd;
}

Status WriteStateFiles(const std::string& state_dir, const std::string& hosts) {
  RemoveStateFiles(state_dir);
  TRIODRILL_RETURN_IF_ERROR(WriteFile(state_dir + "/hosts", hosts, 0644));
  return WriteFile(PidFile(state_dir), Cat(getpid(), "\n"), 0600);
}

void RemoveStateFiles(const std::string& state_dir) {
  unlink((state_dir + "/shadow.sock").c_str());
  unlink(PidFile(state_dir).c_str());
}

}  // namespace triodrill::shadow
