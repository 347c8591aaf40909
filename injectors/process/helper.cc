#include "injectors/process/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {

Result<std::vector<pid_t>> AllPids() {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory("/proc"));
  std::vector<pid_t> pids;
  for (const std::string& name : names) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(name, &pid)) pids.push_back(pid);
  }
  return pids;
}

std::string HelperToken(const v1::AimedFault& fault, std::string_view target) {
  return Cat(fault.run_id(), "/", fault.shot(), "/", target);
}

Result<std::string> Helper::Path() const {
  if (!path_.empty()) return path_;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError(Cat("find ", program_, ": read /proc/self/exe: ", error.message()));
  return (self.parent_path() / program_).string();
}

Status Helper::Check(std::string_view kind) const {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string path, Path());
  if (::access(path.c_str(), X_OK) == 0) return Ok();
  return ErrnoStatus(Cat("find the program of ", kind, ": it belongs beside this one:"), path);
}

Result<HelperOrder> Helper::OrderFor(const v1::UndoRecord& record, const std::string& token) const {
  HelperOrder order;
  order.token = token;
  TRIODRILL_ASSIGN_OR_RETURN(order.parent, IdentifyProcess(::getpid()));
  order.until = Nanos(record.expires_boottime_ns());
  if (order.until <= Nanos(0) && record.max_hold_ns() > 0) order.until = SinceBoot() + Nanos(record.max_hold_ns());
  if (order.until > Nanos(0)) return order;
  return absl::InvalidArgumentError(Cat("apply ", record.fault().kind(), ": the record has no maximum hold"));
}

bool Helper::Carries(pid_t pid, const std::string& token) const {
  const Result<std::string> command = ReadFile(Cat("/proc/", pid, "/cmdline"));
  if (!command.ok()) return false;
  const std::vector<std::string> arguments = absl::StrSplit(*command, '\0');
  return std::filesystem::path(arguments.front()).filename() == program_ &&
         std::find(arguments.begin(), arguments.end(), TokenArgument(token)) != arguments.end();
}

Result<std::vector<ProcessHandle>> Helper::Find(const std::string& token) const {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> pids, AllPids());
  std::vector<ProcessHandle> found;
  for (const pid_t pid : pids) {
    if (!Carries(pid, token)) continue;
    const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid);
    Result<ProcessHandle> process =
        identity.ok() ? ProcessHandle::Open(*identity) : Result<ProcessHandle>(identity.status());
    if (absl::IsNotFound(process.status())) continue;
    if (!process.ok()) return process.status();
    if (process->Ended() || !Carries(pid, token)) continue;  // once more, now that the pidfd is open
    found.push_back(*std::move(process));
  }
  return found;
}

int Helper::Count(const std::vector<ProcessHandle>& helpers) const {
  int most = 0;
  for (const ProcessHandle& helper : helpers) {
    const Result<ProcessStat> stat = ReadProcessStat(helper.identity().pid());
    int count = 0;
    if (!stat.ok() || !stat->name.starts_with(counter_)) continue;
    if (absl::SimpleAtoi(stat->name.substr(counter_.size()), &count)) most = std::max(most, count);
  }
  return most;
}

// It is a child of the process that applied the fault: without this its remains would stay until that ends.
void Helper::Reap() const {
  const Result<std::vector<pid_t>> pids = AllPids();
  if (!pids.ok()) return;
  const std::string_view name = program_.substr(0, 15);
  for (const pid_t pid : *pids) {
    const Result<ProcessStat> stat = ReadProcessStat(pid);
    if (!stat.ok() || stat->parent != ::getpid() || stat->state != 'Z') continue;
    if (stat->name == name || stat->name.starts_with(counter_)) ::waitpid(pid, nullptr, WNOHANG);
  }
}

Status Helper::End(const std::string& token) const {
  Status trouble;
  int round = 0;
  // Again until a whole look finds none: one may have been about to start another during the first.
  const bool ended = LookUntil(std::chrono::seconds(5), [&] {
    const Result<std::vector<ProcessHandle>> helpers = Find(token);
    trouble = helpers.status();
    if (!trouble.ok() || helpers->empty()) return true;
    for (const ProcessHandle& helper : *helpers) {
      const Status sent = helper.Signal(round < 2 ? SIGTERM : SIGKILL);
      if (!sent.ok() && !absl::IsNotFound(sent)) trouble = sent;
      Step("helper: one process told to end");
    }
    for (const ProcessHandle& helper : *helpers) WaitReadable(helper.fd(), std::chrono::seconds(1));
    ++round;
    return !trouble.ok();
  });
  Reap();
  TRIODRILL_RETURN_IF_ERROR(trouble);
  if (ended) return Ok();
  return absl::DeadlineExceededError(Cat("end ", program_, " with token ", token, ": it does not end"));
}

Status Helper::Spawn(const std::string& path, const HelperOrder& order, const std::vector<std::string>& more,
                     int status_fd) const {
  std::vector<std::string> arguments = HelperArguments(path, order);
  arguments.insert(arguments.end(), more.begin(), more.end());
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
  ::posix_spawn_file_actions_adddup2(&files, status_fd, kHelperStatusFd);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&files, kHelperStatusFd + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // a Ctrl-C meant for the terminal's foreground is not meant for it
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, path.c_str(), &files, &attributes, vector.data(), ::environ);
  if (error == 0) return Ok();
  errno = error;
  return ErrnoStatus("start", path);
}

Status Helper::Await(int status_fd) const {
  if (!WaitReadable(status_fd, std::chrono::seconds(5))) {
    return absl::DeadlineExceededError(Cat(program_, " has not seen its effect within 5 s"));
  }
  std::array<char, 512> text{};
  const ssize_t got = ::read(status_fd, text.data(), text.size());
  if (got > 0 && text[0] == 'S') return Ok();
  if (got > 1)
    return absl::AbortedError(Cat(program_, ": ", std::string(text.data() + 1, static_cast<size_t>(got - 1))));
  return absl::AbortedError(Cat(program_, " ended before its effect was there"));
}

Status Helper::Start(const HelperOrder& order, const std::vector<std::string>& arguments) const {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string path, Path());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Step("helper: before the program");
  TRIODRILL_RETURN_IF_ERROR(Spawn(path, order, arguments, writer.get()));
  writer.Reset();
  Step("helper: program started");
  TRIODRILL_RETURN_IF_ERROR(Await(reader.get()));
  Step("helper: effect seen once");
  return Ok();
}

}  // namespace triodrill
