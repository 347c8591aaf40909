#include "injectors/process/exit_agent.h"

#include <re2/re2.h>
#include <signal.h>

#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/kill.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "process.exit_agent";

Result<int> SignalOf(const v1::AimedFault& fault) {
  return FatalSignalNumber(fault.with().process_exit_agent().signal(), SIGKILL);
}

// The nearest process above `pid` that matches. A parent outside this pid namespace reads as 0 and ends the walk.
Result<v1::ProcessIdentity> LauncherAbove(pid_t pid, const std::string& pattern) {
  if (pattern.empty()) {
    return absl::InvalidArgumentError(
        Cat("prepare ", kKind, ": no `match`, and the pipeline's profile names no launcher either; write one"));
  }
  const re2::RE2 match(pattern, re2::RE2::Quiet);
  if (!match.ok()) {
    return absl::InvalidArgumentError(Cat("prepare ", kKind, ": match '", pattern, "': ", match.error()));
  }
  TRIODRILL_ASSIGN_OR_RETURN(ProcessStat stat, ReadProcessStat(pid));
  while (stat.parent > 1) {
    TRIODRILL_ASSIGN_OR_RETURN(const v1::ProcessIdentity above, IdentifyProcess(stat.parent));
    TRIODRILL_ASSIGN_OR_RETURN(const std::string command, ReadCommandLine(above.pid()));
    if (re2::RE2::PartialMatch(command, match)) return above;
    TRIODRILL_ASSIGN_OR_RETURN(stat, ReadProcessStat(above.pid()));
  }
  return absl::NotFoundError(Cat("prepare ", kKind, ": no process above pid ", pid, " matches '", pattern, "'"));
}

class ExitAgent final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const int signal, SignalOf(fault));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle rank, OpenTarget(fault));
    TRIODRILL_ASSIGN_OR_RETURN(const v1::ProcessIdentity who,
                               LauncherAbove(rank.identity().pid(), fault.with().process_exit_agent().match()));
    TRIODRILL_RETURN_IF_ERROR(CheckMayBeTarget(who));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle launcher, ProcessHandle::Open(who));
    // The rank was still below it when it was found, and is what the plan said: it has not ended since.
    if (rank.Ended()) return absl::NotFoundError(Cat("prepare ", kKind, ": ", Describe(rank.identity()), " has ended"));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(who.pid()));
    // A daemon may well block the signal, and read it from a descriptor.
    if ((status.ignored >> (signal - 1) & 1) != 0) {
      return absl::FailedPreconditionError(
          Cat("prepare ", kKind, ": ", Describe(who), " ignores signal ", signal, "; use SIGKILL"));
    }
    TRIODRILL_RETURN_IF_ERROR(launcher.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    *record.mutable_launcher()->mutable_launcher() = who;
    record.set_by_hand(
        Cat("nothing to undo: a launcher that has ended does not come back; start the workload's process ", who.pid(),
            " anew on this node if nothing else does, and remove the record"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const int signal, SignalOf(record.fault()));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle launcher, ProcessHandle::Open(record.launcher().launcher()));
    if (launcher.Ended()) return absl::NotFoundError(Cat(Describe(launcher.identity()), " had ended before"));
    Step("exit agent: opened");
    TRIODRILL_RETURN_IF_ERROR(launcher.Signal(signal));
    Step("exit agent: sent");
    return Ok();
  }

  Status Revert(const v1::UndoRecord&) override { return Ok(); }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kPresent, "recorded on an earlier boot: processes do not survive a reboot"};
    const v1::ProcessIdentity& who = record.launcher().launcher();
    const Result<ProcessHandle> launcher = ProcessHandle::Open(who);
    if (absl::IsNotFound(launcher.status())) {
      return Effect{Presence::kPresent, std::string(launcher.status().message())};
    }
    TRIODRILL_RETURN_IF_ERROR(launcher.status());
    if (launcher->Ended()) return Effect{Presence::kPresent, Cat("pidfd readable: ", Describe(who), " has ended")};
    return Effect{Presence::kAbsent, Cat(Describe(who), " is alive")};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeProcessExitAgent() { return std::make_unique<ExitAgent>(); }

}  // namespace triodrill
