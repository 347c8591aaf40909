#include "coordinator/os/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "triodrill/text.h"

extern char** environ;

namespace triodrill::coordinator {
namespace {

constexpr size_t kMostOutput = 64 * 1024;

// Our environment with `more` in it; the pointers live as long as `more` and our environment do.
std::vector<char*> EnvironmentWith(const std::vector<std::string>& more) {
  std::vector<char*> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view ours(*one);
    const bool replaced = std::any_of(more.begin(), more.end(), [&](const std::string& instead) {
      return ours.starts_with(std::string_view(instead).substr(0, instead.find('=') + 1));
    });
    if (!replaced) all.push_back(*one);
  }
  for (const std::string& one : more) all.push_back(const_cast<char*>(one.c_str()));
  all.push_back(nullptr);
  return all;
}

// Standard error is appended to `err_file`, if one is named.
Result<pid_t> SpawnWith(const Launch& launch, const std::string& err_file) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy_actions = [&] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, launch.out_fd, STDOUT_FILENO);
  if (err_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, launch.err_fd, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy_attributes = [&] { posix_spawnattr_destroy(&attributes); };
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> pointers;
  for (const std::string& argument : launch.argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  errno = posix_spawn(&child, pointers[0], &actions, &attributes, pointers.data(),
                      launch.env.empty() ? environ : EnvironmentWith(launch.env).data());
  if (errno != 0) return ErrnoStatus("start program", launch.argv[0]);
  return child;
}

}  // namespace

bool AwaitReadable(int fd, Clock& clock, TimePoint deadline) {
  while (true) {
    const Nanos left = std::max(Nanos(0), Nanos(deadline - clock.Now()));
    pollfd look{fd, POLLIN, 0};
    const int found = poll(&look, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    if (found > 0) return true;
    if (found == 0 && left == Nanos(0)) return false;
    if (found < 0 && errno != EINTR) return false;
  }
}

Result<pid_t> Spawn(const std::vector<std::string>& argv, int out_fd, const std::string& err_file) {
  return SpawnWith({.argv = argv, .env = {}, .out_fd = out_fd, .err_fd = out_fd}, err_file);
}

Result<pid_t> Spawn(const Launch& launch) { return SpawnWith(launch, ""); }

Result<int> AwaitExit(pid_t child, Clock& clock, TimePoint deadline) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (pidfd < 0) return ErrnoStatus("pidfd_open", Cat("child process ", child));
  const absl::Cleanup close_pidfd = [pidfd] { close(pidfd); };
  const bool in_time = AwaitReadable(pidfd, clock, deadline);
  if (!in_time) kill(child, SIGKILL);  // ours and not reaped: the pid is still its own
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus("wait for", Cat("child process ", child));
  }
  if (!in_time) return absl::DeadlineExceededError(Cat("child process ", child, " did not end in time and was killed"));
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

Result<Finished> RunToEnd(const std::vector<std::string>& argv, Clock& clock, Nanos at_most) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("pipe for", argv[0]);
  const absl::Cleanup close_read_end = [&] { close(ends[0]); };
  const Result<pid_t> child = Spawn(argv, ends[1], "");
  close(ends[1]);
  if (!child.ok()) return child.status();
  const TimePoint deadline = clock.Now() + at_most;
  Finished finished;
  char bytes[4096];
  while (AwaitReadable(ends[0], clock, deadline)) {
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    if (got <= 0) break;
    finished.output.append(bytes, std::min(static_cast<size_t>(got), kMostOutput - finished.output.size()));
  }
  TRIODRILL_ASSIGN_OR_RETURN(finished.exit_code, AwaitExit(*child, clock, deadline));
  return finished;
}

Status RunIntoFile(const std::vector<std::string>& argv, const std::string& file, Clock& clock, Nanos at_most) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return ErrnoStatus("open", file);
  const Result<pid_t> child = Spawn(argv, fd, file);
  close(fd);
  if (!child.ok()) return child.status();
  TRIODRILL_ASSIGN_OR_RETURN(const int exit_code, AwaitExit(*child, clock, clock.Now() + at_most));
  if (exit_code == 0) return Ok();
  return absl::UnavailableError(Cat(argv[0], " ended with ", exit_code, "; its words are in ", file));
}

}  // namespace triodrill::coordinator
