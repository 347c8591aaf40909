// triodrill-flap: takes links down and up until told to end, stops the processes that it was given while they are down,
// and leaves all of it up, whole and running. Two processes: the keeper, which was started, and the flapper, its child,
// which does the work. Whichever sees a reason to end puts everything back first; each watches the other, so that no
// single death leaves anything down or stopped.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "injectors/link/flap_order.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/taken_links.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"
#include "injectors/process/run_state.h"

namespace triodrill {
namespace {

// What goes away and comes back. A process that ends meanwhile is away for good, and nobody's concern any more.
struct Node {
  TakenLinks links;
  std::vector<ProcessHandle> processes;
};

Result<Node> Open(const FlapOrder& order) {
  Node node;
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  for (const v1::LinkIdentity& identity : order.links) {
    TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, FindLinkForSure(socket, identity));
    if (!link.Up()) return absl::FailedPreconditionError(Cat(Describe(identity), " is down already"));
    v1::TakenLink& taken = *node.links.Add();
    *taken.mutable_link() = identity;
    TRIODRILL_ASSIGN_OR_RETURN(*taken.mutable_prior(), ReadLinkPrior(socket, link));
  }
  for (const v1::ProcessIdentity& identity : order.processes) {
    Result<ProcessHandle> process = ProcessHandle::Open(identity);
    if (absl::IsNotFound(process.status())) continue;
    TRIODRILL_RETURN_IF_ERROR(process.status());
    node.processes.push_back(*std::move(process));
  }
  if (node.processes.empty() && !order.processes.empty()) {
    return absl::NotFoundError("all the processes that were to be stopped have ended");
  }
  return node;
}

bool Stopped(const ProcessHandle& process) {
  const Result<RunState> state = LookAtRunState(process);
  return state.ok() && (state->ended || state->AllStopped());
}

// Links first: what is stopped would still be answered for by the kernel.
Status GoAway(RouteSocket& socket, const Node& node) {
  TRIODRILL_RETURN_IF_ERROR(TakeLinksDown(socket, node.links));
  for (const ProcessHandle& process : node.processes) {
    const Status stopped = process.Signal(SIGSTOP);
    if (!stopped.ok() && !absl::IsNotFound(stopped)) return stopped;
  }
  return Ok();
}

bool SeenAway(RouteSocket& socket, const Node& node) {
  const Result<LinksSeen> links = LookAtLinks(socket, node.links);
  return links.ok() && links->AllDown() && std::all_of(node.processes.begin(), node.processes.end(), &Stopped);
}

Status ComeBack(const Node& node, Nanos within = std::chrono::minutes(1)) {
  Status first;
  for (const ProcessHandle& process : node.processes) first.Update(LetRun(process.identity()));
  first.Update(BringLinksUp(node.links, within));
  return first;
}

// Until there is a reason to end, or something went wrong; all may be away then.
Status FlapOn(const Node& node, const FlapOrder& order, const ReasonsToEnd& reasons) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  ShowCount(kFlapCount, 0);
  int seen = 0;
  for (int64_t cycle = 0; order.count == 0 || cycle < order.count; ++cycle) {
    const FlapTimes times = TimesOfCycle(order, cycle);
    const Nanos away_at = SinceBoot();
    TRIODRILL_RETURN_IF_ERROR(GoAway(socket, node));
    if (LookUntil(times.down, [&] { return SeenAway(socket, node); })) {
      ShowCount(kFlapCount, ++seen);
      SayStarted();
    }
    if (reasons.Before(away_at + times.down)) return Ok();
    const Nanos back_at = SinceBoot();
    // Not all may be back before it goes away again: that is what a fast flap does.
    const Status whole = ComeBack(node, times.up);
    if (!whole.ok() && !absl::IsDeadlineExceeded(whole)) return whole;
    if (reasons.Before(back_at + times.up)) return Ok();
  }
  const Status whole = ComeBack(node);
  reasons.Before(order.common.until);  // what was asked for is done; who asked still looks for this process
  return whole;
}

int RunFlapper(const Node& node, const FlapOrder& order, const ReasonsToEnd& reasons) {
  const Status flapped = FlapOn(node, order, reasons);
  const Status back = ComeBack(node);
  return flapped.ok() && back.ok() ? 0 : SayFailed(kFlapProgram, flapped.ok() ? back : flapped);
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kFlapProgram, status); };
  const Result<FlapOrder> order = ParseFlapArguments(arguments);
  if (!order.ok()) return failed(order.status());
  Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  const Result<Node> node = Open(*order);
  if (!node.ok()) return failed(node.status());
  const Result<v1::ProcessIdentity> self = IdentifyProcess(::getpid());
  if (!self.ok()) return failed(self.status());
  const Result<ProcessHandle> keeper = ProcessHandle::Open(*self);
  if (!keeper.ok()) return failed(keeper.status());
  if (reasons->Now()) return 0;

  const pid_t child = ::fork();
  if (child < 0) return failed(ErrnoStatus("fork", "the flapper"));
  if (child == 0) {
    reasons->Add(keeper->fd());
    ::_exit(RunFlapper(*node, *order, *reasons));
  }
  CloseStatus();
  const Result<v1::ProcessIdentity> child_identity = IdentifyProcess(child);
  const Result<ProcessHandle> flapper =
      child_identity.ok() ? ProcessHandle::Open(*child_identity) : Result<ProcessHandle>(child_identity.status());
  if (flapper.ok()) {
    reasons->Add(flapper->fd());
    reasons->Before(order->common.until);
  }
  // Not reaped yet, so the number still is the flapper's.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return ComeBack(*node).ok() ? 0 : 1;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
