#include "drills/shadow/program_start.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "drills/shadow/node_channel.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

struct Failure {
  int error = 0;
  char what = 0;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Fail(int report_fd, char what) {
  const Failure failure{errno, what};
  const ssize_t ignored = write(report_fd, &failure, sizeof failure);
  _exit(ignored >= 0 ? 127 : 126);
}

// In the child. Never returns.
[[noreturn]] void Become(char* const* argv, char** environment, const char* out, const char* err, int report_fd) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in_fd < 0 || dup2(in_fd, STDIN_FILENO) < 0) Fail(report_fd, 'i');
  const int out_fd = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out_fd < 0 || dup2(out_fd, STDOUT_FILENO) < 0) Fail(report_fd, 'o');
  const int err_fd = open(err, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (err_fd < 0 || dup2(err_fd, STDERR_FILENO) < 0) Fail(report_fd, 'e');
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) Fail(report_fd, 'c');
  if (chdir("/") != 0) Fail(report_fd, 'd');
  environ = environment;  // execvp looks into the program's own PATH
  execvp(argv[0], argv);
  Fail(report_fd, 'x');
}

std::string Describe(const Failure& failure, const v1::Program& program) {
  switch (failure.what) {
    case 'o':
      return Cat("open for standard output ", program.out());
    case 'e':
      return Cat("open for standard error ", program.err());
    case 'x':
      return Cat("execute ", program.argv(0));
    default:
      return Cat("set up ", program.argv(0));
  }
}

}  // namespace

Result<pid_t> StartProgram(const v1::Program& program, const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("pipe for starting", program.argv(0));
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  const std::vector<std::string> arguments(program.argv().begin(), program.argv().end());
  const std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> envp = Pointers(environment);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus("fork for", program.argv(0));
  if (pid == 0) Become(argv.data(), envp.data(), program.out().c_str(), program.err().c_str(), write_end.get());
  write_end.Reset();
  Failure failure;
  ssize_t got;
  do {
    got = read(read_end.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return pid;  // closed by a successful exec
  waitpid(pid, nullptr, 0);
  errno = failure.error;
  return ErrnoStatus("start program:", Describe(failure, program));
}

}  // namespace triodrill::shadow
