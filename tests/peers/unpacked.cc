// A program of a package that was unpacked and not installed, which looks for its data under /usr/share all the same:
// runs in a mount namespace of its own, in which the unpacked data lie there: unpacked SHARE PROGRAM [ARGUMENT...]
// The process becomes PROGRAM. Without root, in a user namespace of its own in which it is root.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

namespace {

int Fail(const char* what) {
  perror(what);
  return 1;
}

bool Write(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

bool BecomeRootOfOneself() {
  const std::string user = "0 " + std::to_string(geteuid()) + " 1\n";
  const std::string group = "0 " + std::to_string(getegid()) + " 1\n";
  return unshare(CLONE_NEWUSER) == 0 && Write("/proc/self/setgroups", "deny") && Write("/proc/self/uid_map", user) &&
         Write("/proc/self/gid_map", group);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: unpacked SHARE PROGRAM [ARGUMENT...]\n", stderr);
    return 64;
  }
  if (geteuid() != 0 && !BecomeRootOfOneself()) return Fail("a user namespace");
  if (unshare(CLONE_NEWNS) != 0) return Fail("a mount namespace");
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Fail("make mounts private");
  if (mount(argv[1], "/usr/share", nullptr, MS_BIND, nullptr) != 0) return Fail(argv[1]);
  execv(argv[2], argv + 2);
  return Fail(argv[2]);
}
