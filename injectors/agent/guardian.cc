#include "injectors/agent/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "injectors/os/clock.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

// Where the child finds its end of the pipe.
constexpr int kPipeInChild = 3;

Result<pid_t> Spawn(const std::string& program, const std::string& journal, int pipe_read_end) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const absl::Cleanup free_them = [&actions, &attributes] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_read_end, kPipeInChild);
  // Whatever was left open by whoever started us is not the guardian's either.
  posix_spawn_file_actions_addclosefrom_np(&actions, kPipeInChild + 1);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);

  std::string arguments[] = {program, "--journal", journal, "--guard", std::to_string(kPipeInChild)};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), arguments[4].data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environ);
  if (error == 0) return pid;
  errno = error;
  return ErrnoStatus("start the guardian", program);
}

}  // namespace

Guardian::Guardian(pid_t pid, UniqueFd child, UniqueFd pipe)
    : pid_(pid), child_(std::move(child)), pipe_(std::move(pipe)) {}

Result<Guardian> Guardian::Start(const std::string& program, const std::string& journal) {
  int ends[2];
  // Closed on exec: were the write end open in any other child, the guardian would wait for that one too.
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("make a pipe to", "the guardian");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  // dup2 onto itself would leave it closed on exec.
  if (read_end.get() == kPipeInChild) {
    UniqueFd moved(fcntl(read_end.get(), F_DUPFD_CLOEXEC, kPipeInChild + 1));
    if (!moved.valid()) return ErrnoStatus("move a pipe to", "the guardian");
    read_end = std::move(moved);
  }
  TRIODRILL_ASSIGN_OR_RETURN(const pid_t pid, Spawn(program, journal, read_end.get()));
  // Our own child, not yet waited for: the pid is surely its.
  UniqueFd child(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!child.valid()) return ErrnoStatus("hold on to", Cat("the guardian, pid ", pid));
  return Guardian(pid, std::move(child), std::move(write_end));
}

bool Guardian::Alive() {
  siginfo_t info{};
  if (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child_.get()), &info, WEXITED | WNOHANG) != 0) {
    return false;
  }
  return info.si_pid == 0;
}

void Guardian::Dismiss(Nanos patience) {
  pipe_.Reset();
  if (WaitReadable(child_.get(), patience)) Alive();
}

}  // namespace triodrill::agent
