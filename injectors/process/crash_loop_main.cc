// triodrill-crashloop: kills one process, and then each that looks like it, until told to end. One process: whatever
// way it ends, nothing is left behind.
#include <re2/re2.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "injectors/os/clock.h"
#include "injectors/process/crash_loop_order.h"
#include "injectors/process/helper.h"
#include "injectors/process/helper_side.h"
#include "injectors/process/process_identity.h"

namespace triodrill {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(10);
// A process may change its command line (exec) while it is young; later only a thorough look reads it again.
constexpr Nanos kYoungFor = std::chrono::seconds(5);
constexpr Nanos kThoroughEvery = std::chrono::seconds(1);

class Killer {
 public:
  explicit Killer(const CrashLoopOrder& order) : order_(order), match_(order.match, re2::RE2::Quiet) {
    for (const std::string& pattern : order.protect) {
      protect_.push_back(std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet));
    }
  }

  Status Check() const {
    bool good = match_.ok();
    for (const auto& pattern : protect_) good = good && pattern->ok();
    return good ? Ok() : absl::InvalidArgumentError("a pattern is malformed");
  }

  Status KillTarget() {
    TRIODRILL_RETURN_IF_ERROR(CheckMayBeTarget(order_.target));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle target, ProcessHandle::Open(order_.target));
    TRIODRILL_RETURN_IF_ERROR(target.Signal(SIGKILL));
    if (!WaitReadable(target.fd(), std::chrono::seconds(5))) {
      return absl::DeadlineExceededError(Cat("kill ", Describe(order_.target), ": it has not ended within 5 s"));
    }
    ShowCount(kCrashLoopCount, ++killed_);
    return Ok();
  }

  void Look() {
    const Result<std::vector<pid_t>> pids = AllPids();
    if (!pids.ok()) return;
    const Nanos now = SinceBoot();
    const bool thorough = now >= next_thorough_;
    if (thorough) next_thorough_ = now + kThoroughEvery;
    std::set<pid_t> present(pids->begin(), pids->end());
    std::erase_if(seen_, [&](const auto& one) { return !present.contains(one.first); });
    for (const pid_t pid : *pids) {
      if (pid <= 1 || pid == ::getpid() || pid == order_.common.parent.pid()) continue;
      const auto known = seen_.find(pid);
      if (known != seen_.end() && !thorough && !known->second.matches && now > known->second.first + kYoungFor)
        continue;
      LookAt(pid, now);
    }
  }

 private:
  struct Seen {
    uint64_t start_time_ticks = 0;
    Nanos first{0};
    bool matches = false;
  };

  bool Matches(pid_t pid) const {
    const Result<std::string> command = ReadCommandLine(pid);
    if (!command.ok() || command->empty() || !re2::RE2::PartialMatch(*command, match_)) return false;
    for (const auto& pattern : protect_) {
      if (re2::RE2::PartialMatch(*command, *pattern)) return false;
    }
    return true;
  }

  // The agent's other children are its guardian and helpers of other faults.
  bool BelongsToTheAgent(pid_t pid) const {
    for (int depth = 0; pid > 1 && depth < 64; ++depth) {
      if (pid == order_.common.parent.pid()) return true;
      const Result<ProcessStat> stat = ReadProcessStat(pid);
      if (!stat.ok()) return false;
      pid = stat->parent;
    }
    return false;
  }

  void LookAt(pid_t pid, Nanos now) {
    const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid);
    if (!identity.ok()) return;
    Seen& seen = seen_[pid];
    if (seen.start_time_ticks != identity->start_time_ticks()) seen = {identity->start_time_ticks(), now, false};
    seen.matches = Matches(pid);
    if (!seen.matches || now < seen.first + order_.let_live) return;
    if (!CheckMayBeTarget(*identity).ok() || BelongsToTheAgent(pid)) return;
    const Result<ProcessHandle> process = ProcessHandle::Open(*identity);
    // Once more, now that the pidfd is open: what was read was of this process.
    if (!process.ok() || process->Ended() || !Matches(pid)) return;
    if (process->Signal(SIGKILL).ok()) ShowCount(kCrashLoopCount, ++killed_);
  }

  const CrashLoopOrder& order_;
  const re2::RE2 match_;
  std::vector<std::unique_ptr<re2::RE2>> protect_;
  std::map<pid_t, Seen> seen_;
  Nanos next_thorough_{0};
  int killed_ = 0;
};

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kCrashLoopProgram, status); };
  const Result<CrashLoopOrder> order = ParseCrashLoopArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  Killer killer(*order);
  if (const Status good = killer.Check(); !good.ok()) return failed(good);
  if (reasons->Now()) return 0;
  if (const Status killed = killer.KillTarget(); !killed.ok()) return failed(killed);
  SayStarted();
  CloseStatus();
  while (!reasons->Before(SinceBoot() + kLookEvery)) killer.Look();
  return 0;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
