#include "injectors/process/run_state.h"

#include <signal.h>

#include <vector>

#include "absl/strings/match.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {

std::string RunState::Text() const {
  if (ended) return "the process has ended";
  std::string text = Cat(stopped, " of ", threads, threads == 1 ? " thread stopped" : " threads stopped");
  if (stop_pending) text += ", a stop is pending";
  if (tracer != 0) text += Cat(", traced by pid ", tracer);
  return text;
}

Result<RunState> LookAtRunState(const ProcessHandle& process) {
  const pid_t pid = process.identity().pid();
  RunState state;
  state.ended = process.Ended();
  if (state.ended) return state;
  // Pending first: a stop that is taken between the two looks shows as a stopped thread in the second.
  const Result<ProcessStatus> status = ReadProcessStatus(pid);
  const Result<std::vector<std::string>> threads = ListDirectory(Cat("/proc/", pid, "/task"));
  // The numbers were of this process only if it still lives now: pids are reused after the end alone.
  if ((!status.ok() || !threads.ok()) && process.Ended()) return RunState{.ended = true};
  if (!status.ok()) return status.status();
  if (!threads.ok()) return threads.status();
  state.stop_pending = status->Pending(SIGSTOP);
  state.tracer = status->tracer;
  for (const std::string& thread : *threads) {
    const Result<ProcessStat> stat = ReadProcessStat(Cat(pid, "/task/", thread));
    if (absl::IsNotFound(stat.status())) continue;  // that thread has ended
    if (!stat.ok()) return stat.status();
    if (stat->Dead()) continue;
    ++state.threads;
    if (stat->state == 'T') ++state.stopped;
    if (stat->state == 't') ++state.traced;
  }
  if (process.Ended()) return RunState{.ended = true};
  return state;
}

Status LetRun(const v1::ProcessIdentity& identity) {
  const Result<ProcessHandle> process = ProcessHandle::Open(identity);
  if (absl::IsNotFound(process.status())) return Ok();
  if (!process.ok()) return process.status();
  TRIODRILL_ASSIGN_OR_RETURN(RunState state, LookAtRunState(*process));
  if (!state.AnyStop()) return Ok();
  const Status sent = process->Signal(SIGCONT);
  if (absl::IsNotFound(sent)) return Ok();
  TRIODRILL_RETURN_IF_ERROR(sent);
  Step("process: continued");
  Status trouble;
  const bool runs = LookUntil(std::chrono::seconds(2), [&] {
    const Result<RunState> now = LookAtRunState(*process);
    trouble = now.status();
    if (now.ok()) state = *now;
    return !trouble.ok() || !state.AnyStop();
  });
  TRIODRILL_RETURN_IF_ERROR(trouble);
  if (runs) return Ok();
  return absl::DeadlineExceededError(
      Cat("continue ", Describe(identity), ": ", state.Text(), " after SIGCONT; look who stops it again"));
}

Result<std::string> CheckRunsFreely(const ProcessHandle& process) {
  const std::string who = Describe(process.identity());
  TRIODRILL_ASSIGN_OR_RETURN(const RunState state, LookAtRunState(process));
  if (state.ended) return absl::NotFoundError(Cat(who, " has ended"));
  if (state.tracer != 0) {
    return absl::FailedPreconditionError(Cat("stop ", who, ": it is traced by pid ", state.tracer, "; end that first"));
  }
  if (state.AnyStop() || state.traced > 0) {
    return absl::FailedPreconditionError(
        Cat("stop ", who, ": it is stopped already (", state.Text(), "); its state could not be given back"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(process.identity().pid()));
  return std::string(1, stat.state);
}

}  // namespace triodrill
