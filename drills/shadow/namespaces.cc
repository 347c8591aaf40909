#include "drills/shadow/namespaces.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drills/shadow/node_channel.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

Status WriteOnce(const std::string& file, const std::string& text) {
  const OwnedFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", file);
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return ErrnoStatus("write", file);
  return Ok();
}

}  // namespace

Result<pid_t> ForkInto(uint64_t flags) {
  clone_args args{};
  args.flags = flags;
  args.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) {
    const bool user = (flags & CLONE_NEWUSER) != 0;
    return ErrnoStatus("clone3",
                       user ? "a user namespace (is kernel.unprivileged_userns_clone or user.max_user_namespaces 0? "
                              "run as root, or allow user namespaces)"
                            : "namespaces of a node");
  }
  return static_cast<pid_t>(pid);
}

Status MapCallerToRoot(pid_t child) {
  const std::string proc = Cat("/proc/", child);
  TRIODRILL_RETURN_IF_ERROR(WriteOnce(proc + "/setgroups", "deny"));
  TRIODRILL_RETURN_IF_ERROR(WriteOnce(proc + "/uid_map", Cat("0 ", geteuid(), " 1\n")));
  return WriteOnce(proc + "/gid_map", Cat("0 ", getegid(), " 1\n"));
}

Status DieWithParent(int parent_pidfd) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ErrnoStatus("prctl PR_SET_PDEATHSIG", "init");
  if (Ended(parent_pidfd)) return absl::AbortedError("the supervisor is gone already");
  return Ok();
}

Status SetUpMounts(const std::string& hosts_file) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return ErrnoStatus("make private the mount of", "/");
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return ErrnoStatus("mount proc on", "/proc");
  if (mount(hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
    return ErrnoStatus("bind over /etc/hosts the file", hosts_file);
  }
  return Ok();
}

Status SetHostName(const std::string& name) {
  if (sethostname(name.data(), name.size()) != 0) return ErrnoStatus("sethostname", name);
  return Ok();
}

int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int PidfdSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

bool Ended(int pidfd) {
  pollfd look{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&look, 1, 0) == 1;
}

}  // namespace triodrill::shadow
