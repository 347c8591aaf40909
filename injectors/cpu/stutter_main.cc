// triodrill-stutter: stops and continues one process until told to end. Two processes: the keeper, which was started,
// and the beater, its child, which stops and continues. Whichever sees a reason to end continues the target first; each
// watches the other, so that no single death leaves the target stopped.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "injectors/cpu/stutter_order.h"
#include "injectors/os/clock.h"
#include "injectors/os/fd.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/run_state.h"

namespace triodrill {
namespace {

void Say(const std::string& text) {
  // Nobody may be listening any more; that is no reason to stop working.
  [[maybe_unused]] const ssize_t wrote = ::write(kStutterStatusFd, text.data(), text.size());
}

// Whether one of `fds` became readable before `end` (CLOCK_BOOTTIME).
bool WaitAny(const std::vector<int>& fds, Nanos end) {
  std::vector<pollfd> entries;
  for (const int fd : fds) entries.push_back({fd, POLLIN, 0});
  while (true) {
    const Nanos left = std::max(end - SinceBoot(), Nanos(0));
    const timespec wait{static_cast<time_t>(left.count() / 1'000'000'000),
                        static_cast<long>(left.count() % 1'000'000'000)};
    const int ready = ::ppoll(entries.data(), entries.size(), &wait, nullptr);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return true;
  }
}

std::optional<UniqueFd> BlockSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return std::nullopt;
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  return fd;
}

// One stop and one run, each seen. False: time to end.
bool Beat(const ProcessHandle& target, const StutterOrder& order, const std::vector<int>& reasons, bool* seen) {
  *seen = false;
  if (WaitAny(reasons, Nanos(0)) || !target.Signal(SIGSTOP).ok()) return false;
  const Nanos stopped_at = SinceBoot();
  const auto state = [&] {
    const Result<RunState> now = LookAtRunState(target);
    return now.ok() ? *now : RunState{};
  };
  const bool stopped = LookUntil(order.stop, [&] { return state().AllStopped() || WaitAny(reasons, Nanos(0)); });
  if (stopped) Say("S");
  if (WaitAny(reasons, stopped_at + order.stop)) return false;
  if (!LetRun(order.target).ok()) return false;
  *seen = stopped && !state().ended;
  return !WaitAny(reasons, SinceBoot() + order.run);
}

int RunBeater(const ProcessHandle& target, const StutterOrder& order, const std::vector<int>& reasons) {
  ::prctl(PR_SET_NAME, Cat(kStutterCycles, 0).c_str());
  int cycles = 0;
  bool seen = false;
  while (true) {
    const bool go_on = Beat(target, order, reasons, &seen);
    if (seen) ::prctl(PR_SET_NAME, Cat(kStutterCycles, ++cycles).c_str());
    if (!go_on) break;
  }
  return LetRun(order.target).ok() ? 0 : 1;
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) {
    Say(Cat("E", status.message()));
    std::cerr << kStutterProgram << ": " << status.message() << '\n';
    return 1;
  };
  const Result<StutterOrder> order = ParseStutterArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const std::optional<UniqueFd> signals = BlockSignals();
  if (!signals.has_value()) return failed(ErrnoStatus("block", "signals"));
  // If whoever asked is gone by now, an undo may have been here already: nothing is to be stopped any more.
  const Result<ProcessHandle> parent = ProcessHandle::Open(order->parent);
  if (!parent.ok()) return failed(parent.status());
  const Result<ProcessHandle> target = ProcessHandle::Open(order->target);
  if (!target.ok()) return failed(target.status());
  const Result<v1::ProcessIdentity> self = IdentifyProcess(::getpid());
  if (!self.ok()) return failed(self.status());
  const Result<ProcessHandle> keeper = ProcessHandle::Open(*self);
  if (!keeper.ok()) return failed(keeper.status());

  const pid_t child = ::fork();
  if (child < 0) return failed(ErrnoStatus("fork", "the beater"));
  if (child == 0) {
    const std::vector<int> reasons = {signals->get(), keeper->fd(), parent->fd(), target->fd()};
    ::_exit(RunBeater(*target, *order, reasons));
  }
  ::close(kStutterStatusFd);
  const Result<v1::ProcessIdentity> child_identity = IdentifyProcess(child);
  const Result<ProcessHandle> beater =
      child_identity.ok() ? ProcessHandle::Open(*child_identity) : Result<ProcessHandle>(child_identity.status());
  if (beater.ok()) WaitAny({signals->get(), beater->fd(), parent->fd(), target->fd()}, order->until);
  // Not reaped yet, so the number still is the beater's.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return LetRun(order->target).ok() ? 0 : 1;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
