#include "injectors/cpu/stutter.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "injectors/cpu/stutter_order.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"
#include "injectors/process/run_state.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

Result<std::string> ProgramBesideUs() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError(Cat("find ", kStutterProgram, ": read /proc/self/exe: ", error.message()));
  return (self.parent_path() / kStutterProgram).string();
}

Status CheckProgram(const std::string& program) {
  if (::access(program.c_str(), X_OK) == 0) return Ok();
  return ErrnoStatus("find the program of cpu.stutter: it belongs beside this one:", program);
}

// Whether `pid` is the program with that token at this moment.
bool CarriesToken(pid_t pid, const std::string& token) {
  const Result<std::string> command = ReadFile(Cat("/proc/", pid, "/cmdline"));
  if (!command.ok()) return false;
  const std::vector<std::string> arguments = absl::StrSplit(*command, '\0');
  return std::filesystem::path(arguments.front()).filename() == kStutterProgram &&
         std::find(arguments.begin(), arguments.end(), TokenArgument(token)) != arguments.end();
}

Result<std::vector<pid_t>> AllPids() {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory("/proc"));
  std::vector<pid_t> pids;
  for (const std::string& name : names) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(name, &pid)) pids.push_back(pid);
  }
  return pids;
}

Result<std::vector<ProcessHandle>> FindPrograms(const std::string& token) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> pids, AllPids());
  std::vector<ProcessHandle> found;
  for (const pid_t pid : pids) {
    if (!CarriesToken(pid, token)) continue;
    const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid);
    Result<ProcessHandle> process =
        identity.ok() ? ProcessHandle::Open(*identity) : Result<ProcessHandle>(identity.status());
    if (absl::IsNotFound(process.status())) continue;
    if (!process.ok()) return process.status();
    if (process->Ended() || !CarriesToken(pid, token)) continue;  // once more, now that the pidfd is open
    found.push_back(*std::move(process));
  }
  return found;
}

// The program is a child of the process that applied the fault: without this its remains would stay until that ends.
void ReapOurs() {
  const Result<std::vector<pid_t>> pids = AllPids();
  if (!pids.ok()) return;
  const std::string keeper_name = std::string(kStutterProgram.substr(0, 15));
  for (const pid_t pid : *pids) {
    const Result<ProcessStat> stat = ReadProcessStat(pid);
    if (!stat.ok() || stat->parent != ::getpid() || stat->state != 'Z') continue;
    if (stat->name == keeper_name || stat->name.starts_with(kStutterCycles)) ::waitpid(pid, nullptr, WNOHANG);
  }
}

Status EndPrograms(const std::string& token) {
  Status trouble;
  int round = 0;
  // Again until a whole look finds none: the keeper may have been about to start its beater during the first.
  const bool ended = LookUntil(std::chrono::seconds(5), [&] {
    const Result<std::vector<ProcessHandle>> programs = FindPrograms(token);
    trouble = programs.status();
    if (!trouble.ok() || programs->empty()) return true;
    for (const ProcessHandle& program : *programs) {
      const Status sent = program.Signal(round < 2 ? SIGTERM : SIGKILL);
      if (!sent.ok() && !absl::IsNotFound(sent)) trouble = sent;
      Step("stutter: one process told to end");
    }
    for (const ProcessHandle& program : *programs) WaitReadable(program.fd(), std::chrono::seconds(1));
    ++round;
    return !trouble.ok();
  });
  ReapOurs();
  TRIODRILL_RETURN_IF_ERROR(trouble);
  if (ended) return Ok();
  return absl::DeadlineExceededError(Cat("end ", kStutterProgram, " with token ", token, ": it does not end"));
}

Status Spawn(const std::string& program, const StutterOrder& order, int status_fd) {
  std::vector<std::string> arguments = StutterArguments(program, order);
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
  ::posix_spawn_file_actions_adddup2(&files, status_fd, kStutterStatusFd);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&files, kStutterStatusFd + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // a Ctrl-C meant for the terminal's foreground is not meant for it
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &files, &attributes, vector.data(), ::environ);
  if (error == 0) return Ok();
  errno = error;
  return ErrnoStatus("start", program);
}

// Until the program has seen the target stopped.
Status AwaitStop(int status_fd) {
  if (!WaitReadable(status_fd, std::chrono::seconds(5))) {
    return absl::DeadlineExceededError(Cat(kStutterProgram, " has not seen the target stopped within 5 s"));
  }
  std::array<char, 512> text{};
  const ssize_t got = ::read(status_fd, text.data(), text.size());
  if (got > 0 && text[0] == 'S') return Ok();
  if (got > 1)
    return absl::AbortedError(Cat(kStutterProgram, ": ", std::string(text.data() + 1, static_cast<size_t>(got - 1))));
  return absl::AbortedError(Cat(kStutterProgram, " ended before it had stopped the target"));
}

int CyclesSeen(const std::vector<ProcessHandle>& programs) {
  int most = 0;
  for (const ProcessHandle& program : programs) {
    const Result<ProcessStat> stat = ReadProcessStat(program.identity().pid());
    int cycles = 0;
    if (!stat.ok() || !stat->name.starts_with(kStutterCycles)) continue;
    if (absl::SimpleAtoi(stat->name.substr(kStutterCycles.size()), &cycles)) most = std::max(most, cycles);
  }
  return most;
}

class CpuStutter final : public Injector {
 public:
  explicit CpuStutter(std::string program) : program_(std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::CpuStutter& with = fault.with().cpu_stutter();
    if (ToNanos(with.run()) <= Nanos(0) || ToNanos(with.stop()) <= Nanos(0)) {
      return absl::InvalidArgumentError("prepare cpu.stutter: run and stop must both be longer than nothing");
    }
    TRIODRILL_ASSIGN_OR_RETURN(const std::string program, Program());
    TRIODRILL_RETURN_IF_ERROR(CheckProgram(program));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    TRIODRILL_ASSIGN_OR_RETURN(const std::string state, CheckRunsFreely(process));
    TRIODRILL_RETURN_IF_ERROR(process.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    record.mutable_stutter()->set_state(state);
    record.mutable_stutter()->set_token(
        Cat(fault.run_id(), "/", fault.shot(), "/", who.pid(), "@", who.start_time_ticks()));
    record.set_by_hand(Cat("end every ", kStutterProgram, " with ", TokenArgument(record.stutter().token()),
                           " on its command line, then: kill -CONT ", who.pid(), "  # only if field 22 of /proc/",
                           who.pid(), "/stat is ", who.start_time_ticks()));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    StutterOrder order;
    order.token = record.stutter().token();
    order.target = record.fault().target().process();
    TRIODRILL_ASSIGN_OR_RETURN(order.parent, IdentifyProcess(::getpid()));
    order.run = ToNanos(record.fault().with().cpu_stutter().run());
    order.stop = ToNanos(record.fault().with().cpu_stutter().stop());
    order.until = Nanos(record.expires_boottime_ns());
    if (order.until <= Nanos(0) && record.max_hold_ns() > 0) order.until = SinceBoot() + Nanos(record.max_hold_ns());
    if (order.until <= Nanos(0)) return absl::InvalidArgumentError("apply cpu.stutter: the record has no maximum hold");
    TRIODRILL_ASSIGN_OR_RETURN(const std::string program, Program());
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    Step("stutter: before the program");
    TRIODRILL_RETURN_IF_ERROR(Spawn(program, order, writer.get()));
    writer.Reset();
    Step("stutter: program started");
    TRIODRILL_RETURN_IF_ERROR(AwaitStop(reader.get()));
    Step("stutter: stopped once");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const Status ended = EndPrograms(record.stutter().token());
    Step("stutter: program ended");
    const Status runs = LetRun(record.fault().target().process());
    return ended.ok() ? runs : ended;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, FindPrograms(record.stutter().token()));
    if (!programs.empty()) {
      const int cycles = CyclesSeen(programs);
      return Effect{cycles > 0 ? Presence::kPresent : Presence::kAbsent,
                    Cat("seen stopped and running again ", cycles, cycles == 1 ? " time" : " times")};
    }
    TRIODRILL_ASSIGN_OR_RETURN(const RunState state, LookAtRunState(*process));
    if (state.AnyStop()) return Effect{Presence::kForeign, Cat(state.Text(), ", though nothing of ours stops it")};
    return Effect{Presence::kAbsent, Cat("no ", kStutterProgram, " for it; ", state.Text())};
  }

 private:
  Result<std::string> Program() const { return program_.empty() ? ProgramBesideUs() : Result<std::string>(program_); }

  const std::string program_;
};

}  // namespace

std::unique_ptr<Injector> MakeCpuStutter(std::string program) {
  return std::make_unique<CpuStutter>(std::move(program));
}

v1::Capability ProbeCpuStutter() {
  v1::Capability capability;
  capability.set_kind("cpu.stutter");
  const Result<std::string> program = ProgramBesideUs();
  const Status found = program.ok() ? CheckProgram(*program) : program.status();
  capability.set_possible(found.ok());
  capability.set_reason(found.ok() ? "SIGSTOP and SIGCONT in turn" : std::string(found.message()));
  return capability;
}

}  // namespace triodrill
