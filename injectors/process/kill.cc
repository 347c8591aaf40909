#include "injectors/process/kill.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/target.h"
#include "triodrill/fatal_signals.h"
#include "triodrill/text.h"

namespace triodrill {

Result<int> FatalSignalNumber(const std::string& name, int fallback) {
  if (name.empty()) return fallback;
  std::string known;
  for (const FatalSignal& signal : kFatalSignals) {
    if (signal.name == name) return signal.number;
    Append(known, known.empty() ? "" : ", ", signal.name);
  }
  return absl::InvalidArgumentError(Cat("signal '", name, "': not one that ends a process; known are ", known));
}

namespace {

class ProcessKill final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const int signal, FatalSignalNumber(fault.with().process_kill().signal(), SIGKILL));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(who.pid()));
    if ((status.ignored >> (signal - 1) & 1) != 0 || (status.blocked >> (signal - 1) & 1) != 0) {
      return absl::FailedPreconditionError(
          Cat("kill ", Describe(who), ": it ignores or blocks signal ", signal, "; use SIGKILL"));
    }
    TRIODRILL_RETURN_IF_ERROR(process.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(who.pid()));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    record.mutable_process()->set_state(std::string(1, stat.state));
    record.set_by_hand(Cat("nothing to undo: a killed process does not come back; start the workload's process ",
                           who.pid(), " anew if nothing else does, and remove the record"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const int signal,
                               FatalSignalNumber(record.fault().with().process_kill().signal(), SIGKILL));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    if (process.Ended()) return absl::NotFoundError(Cat(Describe(process.identity()), " had ended before"));
    Step("kill: opened");
    TRIODRILL_RETURN_IF_ERROR(process.Signal(signal));
    Step("kill: sent");
    return Ok();
  }

  Status Revert(const v1::UndoRecord&) override { return Ok(); }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kPresent, Cat("pidfd readable or process gone: ", why)};
    return Effect{Presence::kAbsent, Cat(Describe(process->identity()), " is alive")};
  }
};

v1::Capability Probe(const char* kind) {
  v1::Capability capability;
  capability.set_kind(kind);
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const bool works = self.valid() && ::syscall(SYS_pidfd_send_signal, self.get(), 0, nullptr, 0) == 0;
  capability.set_possible(works);
  capability.set_reason(
      works ? "pidfd" : std::string(ErrnoStatus("open", "a pidfd").message()) + "; Linux 5.3 or later is needed");
  return capability;
}

}  // namespace

std::unique_ptr<Injector> MakeProcessKill() { return std::make_unique<ProcessKill>(); }
v1::Capability ProbeProcessKill() { return Probe("process.kill"); }
v1::Capability ProbeProcessPause() { return Probe("process.pause"); }
v1::Capability ProbeProcessExitAgent() { return Probe("process.exit_agent"); }

}  // namespace triodrill
