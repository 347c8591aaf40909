#include "injectors/process/process_identity.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"

namespace triodrill {
namespace {

constexpr uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

Status NotThere(std::string_view where) { return absl::NotFoundError(Cat("process ", where, ": no such process")); }

// Reads of /proc/PID fail with ENOENT before and ESRCH after the directory was opened: both are "gone".
bool IsGone(const Status& status) {
  return absl::IsNotFound(status) || absl::StrContains(status.message(), "No such process");
}

}  // namespace

Result<ProcessStat> ParseProcessStat(std::string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');  // the name may hold any character, also ')'
  Status malformed = absl::InternalError(Cat("parse /proc/PID/stat: unexpected form '", text, "'"));
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return malformed;
  // fields[0] is field 3 of proc(5).
  const std::vector<std::string> fields = absl::StrSplit(View(text.substr(close + 1)), ' ', absl::SkipEmpty());
  ProcessStat stat;
  uint32_t flags = 0;
  if (fields.size() < 20 || fields[0].size() != 1 ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(View(text.substr(0, open))), &stat.pid) ||
      !absl::SimpleAtoi(fields[1], &stat.parent) || !absl::SimpleAtoi(fields[6], &flags) ||
      !absl::SimpleAtoi(fields[19], &stat.start_time_ticks)) {
    return malformed;
  }
  stat.name = std::string(text.substr(open + 1, close - open - 1));
  stat.state = fields[0][0];
  stat.kernel_thread = (flags & kKernelThreadFlag) != 0;
  return stat;
}

Result<ProcessStat> ReadProcessStat(std::string_view where) {
  const Result<std::string> text = ReadFile(Cat("/proc/", where, "/stat"));
  if (!text.ok()) return IsGone(text.status()) ? NotThere(where) : text.status();
  return ParseProcessStat(*text);
}

Result<ProcessStatus> ParseProcessStatus(std::string_view text) {
  ProcessStatus status;
  bool whole = false;
  for (const absl::string_view line : absl::StrSplit(View(text), '\n')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    uint64_t set = 0;
    if (field.first == "Tgid") {
      whole = absl::SimpleAtoi(value, &status.thread_group);
    } else if (field.first == "TracerPid") {
      if (!absl::SimpleAtoi(value, &status.tracer)) return absl::InternalError("parse /proc/PID/status: TracerPid");
    } else if (field.first == "SigPnd" || field.first == "ShdPnd") {
      if (!absl::SimpleHexAtoi(value, &set)) return absl::InternalError("parse /proc/PID/status: pending signals");
      status.pending |= set;
    } else if (field.first == "SigBlk") {
      if (!absl::SimpleHexAtoi(value, &status.blocked)) return absl::InternalError("parse /proc/PID/status: SigBlk");
    } else if (field.first == "SigIgn") {
      if (!absl::SimpleHexAtoi(value, &status.ignored)) return absl::InternalError("parse /proc/PID/status: SigIgn");
    }
  }
  if (!whole) return absl::InternalError("parse /proc/PID/status: no Tgid");
  return status;
}

Result<ProcessStatus> ReadProcessStatus(pid_t pid) {
  const Result<std::string> text = ReadFile(Cat("/proc/", pid, "/status"));
  if (!text.ok()) return IsGone(text.status()) ? NotThere(Cat(pid)) : text.status();
  return ParseProcessStatus(*text);
}

std::string JoinArguments(std::string_view cmdline) {
  std::string joined(cmdline);
  while (!joined.empty() && joined.back() == '\0') joined.pop_back();
  for (char& c : joined) {
    if (c == '\0') c = ' ';
  }
  return joined;
}

Result<std::string> ReadCommandLine(pid_t pid) {
  const Result<std::string> text = ReadFile(Cat("/proc/", pid, "/cmdline"));
  if (!text.ok()) return IsGone(text.status()) ? NotThere(Cat(pid)) : text.status();
  return JoinArguments(*text);
}

Result<v1::ProcessIdentity> IdentifyProcess(pid_t pid) {
  if (pid <= 0) return absl::InvalidArgumentError(Cat("identify process ", pid, ": not a pid"));
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(pid));
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("pid"));
  v1::ProcessIdentity identity;
  identity.set_pid(pid);
  identity.set_start_time_ticks(stat.start_time_ticks);
  identity.set_pid_namespace_inode(inode);
  return identity;
}

std::string Describe(const v1::ProcessIdentity& identity) {
  return Cat("pid ", identity.pid(), " (started at tick ", identity.start_time_ticks(), ")");
}

Result<ProcessHandle> ProcessHandle::Open(const v1::ProcessIdentity& identity) {
  if (identity.pid() <= 0) return absl::InvalidArgumentError("open process: the identity has no pid");
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("pid"));
  if (inode != identity.pid_namespace_inode()) {
    return absl::FailedPreconditionError(Cat("open ", Describe(identity), ": it was identified in pid namespace ",
                                             identity.pid_namespace_inode(), ", this is ", inode,
                                             "; run again inside that namespace"));
  }
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, identity.pid(), 0)));
  if (!fd.valid() && errno == ESRCH) return absl::NotFoundError(Cat(Describe(identity), " is gone"));
  if (!fd.valid()) return ErrnoStatus("open pidfd of", Describe(identity));
  // The identity is older than the pidfd: if it still holds now, the pidfd is of the same process.
  const Result<ProcessStat> now = ReadProcessStat(identity.pid());
  if (absl::IsNotFound(now.status())) return absl::NotFoundError(Cat(Describe(identity), " is gone"));
  if (!now.ok()) return now.status();
  if (now->start_time_ticks != identity.start_time_ticks()) {
    return absl::NotFoundError(
        Cat(Describe(identity), " is gone: its pid belongs to '", now->name, "' since tick ", now->start_time_ticks));
  }
  return ProcessHandle(std::move(fd), identity);
}

Status ProcessHandle::Signal(int signal) const {
  if (::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0) return Ok();
  if (errno == ESRCH) return absl::NotFoundError(Cat(Describe(identity_), " has ended"));
  return ErrnoStatus(Cat("send signal ", signal, " to"), Describe(identity_));
}

bool ProcessHandle::Ended() const { return WaitReadable(fd_.get(), Nanos(0)); }

namespace {

// Names as the kernel keeps them: cut to 15 bytes.
bool IsProtectedName(std::string_view name) {
  constexpr std::array<std::string_view, 12> kOurs = {
      "triodrill",      "triodrilld",      "triodrill-undo", "triodrill-shado", "triodrill-stutt", "triodrill-crash",
      "triodrill-flap", "triodrill-clock", "triodrill-leak", "triodrill-overl", "triodrill-dcgm",  "triodrill-burn"};
  constexpr std::array<std::string_view, 22> kOthers = {
      "init",           "systemd",         "sshd",         "sshd-session",  "login",         "auditd",
      "rsyslogd",       "journald",        "cron",         "dbus-daemon",   "containerd",    "dockerd",
      "kubelet",        "prometheus",      "alertmanager", "node_exporter", "dcgm-exporter", "nv-hostengine",
      "nvidia-persist", "nvidia-fabricma", "gpud",         "tmux: server"};
  if (name.starts_with("systemd-")) return true;
  // Our helpers.
  for (const std::string_view counting :
       {"stutter:", "crashloop:", "flap:", "wave:", "leak:", "overlay:", "dcgm:", "burn:"}) {
    if (name.starts_with(counting)) return true;
  }
  const auto is = [name](std::string_view kept) { return name == kept; };
  return std::any_of(kOurs.begin(), kOurs.end(), is) || std::any_of(kOthers.begin(), kOthers.end(), is);
}

}  // namespace

Status CheckMayBeTarget(const v1::ProcessIdentity& identity) {
  const auto refused = [&](std::string_view why) {
    return absl::PermissionDeniedError(
        Cat("target ", Describe(identity), ": ", why, "; choose a process of the workload"));
  };
  const pid_t pid = identity.pid();
  if (pid == 1) return refused("init is never a target");
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(pid));
  if (stat.start_time_ticks != identity.start_time_ticks()) {
    return absl::NotFoundError(Cat(Describe(identity), " is gone: its pid belongs to '", stat.name, "' now"));
  }
  if (stat.kernel_thread) return refused("a kernel thread is never a target");
  if (IsProtectedName(stat.name)) return refused(Cat("'", stat.name, "' is never a target"));
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  if (status.thread_group != pid) return refused(Cat("a thread of process ", status.thread_group));
  // An ancestor's end or stop would take this process, and with it the undo, along.
  pid_t ancestor = ::getpid();
  while (ancestor > 1) {
    if (ancestor == pid) return refused("it is this process or an ancestor of it");
    const Result<ProcessStat> above = ReadProcessStat(ancestor);
    if (!above.ok()) break;  // a parent outside this pid namespace reads as 0 and ends the walk above
    ancestor = above->parent;
  }
  return Ok();
}

}  // namespace triodrill
