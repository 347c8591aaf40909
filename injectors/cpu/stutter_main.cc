// triodrill-stutter: stops and continues one process until told to end. Two processes: the keeper, which was started,
// and the beater, its child, which stops and continues. Whichever sees a reason to end continues the target first; each
// watches the other, so that no single death leaves the target stopped.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "injectors/cpu/stutter_order.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/run_state.h"

namespace triodrill {
namespace {

// One stop and one run, each seen. False: time to end.
bool Beat(const ProcessHandle& target, const Cycle& cycle, const ReasonsToEnd& reasons, bool* seen) {
  *seen = false;
  if (reasons.Now() || !target.Signal(SIGSTOP).ok()) return false;
  const Nanos stopped_at = SinceBoot();
  const auto state = [&] {
    const Result<RunState> now = LookAtRunState(target);
    return now.ok() ? *now : RunState{};
  };
  const bool stopped = LookUntil(cycle.stop, [&] { return state().AllStopped() || reasons.Now(); });
  if (stopped) SayStarted();
  if (reasons.Before(stopped_at + cycle.stop)) return false;
  if (!LetRun(target.identity()).ok()) return false;
  *seen = stopped && !state().ended;
  return !reasons.Before(SinceBoot() + cycle.run);
}

int RunBeater(const ProcessHandle& target, const StutterOrder& order, const ReasonsToEnd& reasons) {
  ShowCount(kStutterCycles, 0);
  const Nanos begun = SinceBoot();
  int cycles = 0;
  bool seen = false;
  while (true) {
    const bool go_on = Beat(target, CycleAt(order, SinceBoot() - begun), reasons, &seen);
    if (seen) ShowCount(kStutterCycles, ++cycles);
    if (!go_on) break;
  }
  return LetRun(order.target).ok() ? 0 : 1;
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kStutterProgram, status); };
  const Result<StutterOrder> order = ParseStutterArguments(arguments);
  if (!order.ok()) return failed(order.status());
  Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  const Result<ProcessHandle> target = ProcessHandle::Open(order->target);
  if (!target.ok()) return failed(target.status());
  reasons->Add(target->fd());
  const Result<v1::ProcessIdentity> self = IdentifyProcess(::getpid());
  if (!self.ok()) return failed(self.status());
  const Result<ProcessHandle> keeper = ProcessHandle::Open(*self);
  if (!keeper.ok()) return failed(keeper.status());

  const pid_t child = ::fork();
  if (child < 0) return failed(ErrnoStatus("fork", "the beater"));
  if (child == 0) {
    reasons->Add(keeper->fd());
    ::_exit(RunBeater(*target, *order, *reasons));
  }
  CloseStatus();
  const Result<v1::ProcessIdentity> child_identity = IdentifyProcess(child);
  const Result<ProcessHandle> beater =
      child_identity.ok() ? ProcessHandle::Open(*child_identity) : Result<ProcessHandle>(child_identity.status());
  if (beater.ok()) {
    reasons->Add(beater->fd());
    reasons->Before(order->common.until);
  }
  // Not reaped yet, so the number still is the beater's.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return LetRun(order->target).ok() ? 0 : 1;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
