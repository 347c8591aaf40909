#include "injectors/process/run_to_end.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_split.h"
#include "injectors/os/clock.h"
#include "injectors/os/fd.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kMostText = 64 * 1024;

Result<pid_t> Spawn(std::vector<std::string> arguments, int output) {
  std::vector<char*> vector;
  for (std::string& argument : arguments) vector.push_back(argument.data());
  vector.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy = [&] {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  };
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, vector[0], &files, &attributes, vector.data(), ::environ);
  if (error == 0) return child;
  errno = error;
  return ErrnoStatus("start", arguments.front());
}

// Whether all was read until its end.
bool ReadUntil(int fd, Nanos deadline, std::string* text) {
  std::array<char, 4096> piece{};
  while (true) {
    const Nanos left = deadline - SinceBoot();
    if (left <= Nanos(0) || !WaitReadable(fd, left)) return false;
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0) text->append(piece.data(), std::min(static_cast<size_t>(got), kMostText - text->size()));
  }
}

}  // namespace

Result<ProgramEnd> RunToEnd(const std::vector<std::string>& arguments, Nanos within) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const Nanos deadline = SinceBoot() + within;
  TRIODRILL_ASSIGN_OR_RETURN(const pid_t child, Spawn(arguments, writer.get()));
  writer.Reset();
  ProgramEnd end;
  int status = 0;
  pid_t ended = 0;
  if (ReadUntil(reader.get(), deadline, &end.text)) {
    LookUntil(std::max(deadline - SinceBoot(), Nanos(0)),
              [&] { return (ended = ::waitpid(child, &status, WNOHANG)) != 0; });
  }
  if (ended == 0) {  // ours, and not waited for: the pid is surely its
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return absl::DeadlineExceededError(Cat("run ", arguments.front(), ": it did not end in time"));
  }
  if (ended < 0 || !WIFEXITED(status)) return absl::AbortedError(Cat("run ", arguments.front(), ": it was killed"));
  end.code = WEXITSTATUS(status);
  return end;
}

Result<std::string> FindProgram(const std::string& name) {
  const char* const path = std::getenv("PATH");
  const std::string where = path == nullptr ? "/usr/bin:/bin" : path;
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), X_OK) == 0) return name;
    return ErrnoStatus("find", name);
  }
  for (const absl::string_view directory : absl::StrSplit(where, ':', absl::SkipEmpty())) {
    const std::string file = Cat(directory, "/", name);
    if (directory.front() == '/' && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return absl::NotFoundError(Cat("find ", name, ": it is in none of ", where));
}

}  // namespace triodrill
