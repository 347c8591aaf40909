// A node of a test: a pid namespace of its own, in which the program given runs, and in which whatever loses its parent
// is reaped. SIGTERM is its power switch: all that runs in it is killed, and it ends once nothing is left. If whoever
// started it dies, so does the node, so that no daemon outlives a test: node_init PROGRAM [ARGUMENT...]
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace {

int Fail(const char* what) {
  perror(what);
  return 1;
}

// Process 1 of the namespace; its end is the end of all others there.
int Init(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The namespace's own /proc: daemons look their processes up there.
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Fail("make mounts private");
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return Fail("mount /proc");
  pid_t daemon = 0;
  errno = posix_spawn(&daemon, argv[0], nullptr, nullptr, argv, environ);
  if (errno != 0) return Fail(argv[0]);
  // What the daemon started stays when it ends: a dead daemon does not end a node.
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("usage: node_init PROGRAM [ARGUMENT...]\n", stderr);
    return 64;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGTERM);
  sigaddset(&waited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &waited, nullptr);
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return Fail("unshare");
  const pid_t init = fork();
  if (init < 0) return Fail("fork");
  if (init == 0) _exit(Init(argv + 1));
  int status = 0;
  // An init is reaped when its namespace is empty.
  while (waitpid(init, &status, WNOHANG) == 0) {
    if (sigwaitinfo(&waited, nullptr) == SIGTERM) kill(init, SIGKILL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
