#include "coordinator/cli/run_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace triodrill::cli {

Result<std::optional<pid_t>> RunHolder(const std::string& state_dir) {
  const std::string file = state_dir + "/run.lock";
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    if (errno == ENOENT) return std::optional<pid_t>();
    return ErrnoStatus("open", file);
  }
  const absl::Cleanup close_it = [fd] { close(fd); };
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return std::optional<pid_t>();
  char text[32] = {};
  const ssize_t got = pread(fd, text, sizeof text - 1, 0);
  int pid = 0;
  if (got <= 0 || !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &pid) || pid <= 1) {
    return absl::DataLossError(absl::StrCat(file, " is held, but does not say by whom; find it with lsof or fuser"));
  }
  return std::optional<pid_t>(pid);
}

Status AbortHolder(const std::string& state_dir, pid_t holder, std::chrono::milliseconds patience) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, holder, 0));
  if (pidfd < 0) return errno == ESRCH ? Ok() : ErrnoStatus("open a pidfd of", absl::StrCat("process ", holder));
  const absl::Cleanup close_it = [pidfd] { close(pidfd); };
  // The pid may have been reused since it was read: the lock must still name the process that the pidfd stands for.
  TRIODRILL_ASSIGN_OR_RETURN(const std::optional<pid_t> still, RunHolder(state_dir));
  if (!still || *still != holder) return Ok();
  if (syscall(SYS_pidfd_send_signal, pidfd, SIGINT, nullptr, 0) != 0) {
    return ErrnoStatus("send SIGINT to", absl::StrCat("process ", holder));
  }
  pollfd ended{pidfd, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(patience.count())) == 1) return Ok();
  return absl::DeadlineExceededError(absl::StrCat("the run (process ", holder, ") has not ended after ",
                                                  patience.count() / 1000, " s; it is still undoing, see its output"));
}

}  // namespace triodrill::cli
