// triodrill-flap: takes one interface down and up until told to end, and leaves it up and whole. One process.
#include <string>
#include <vector>

#include "injectors/link/flap_order.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/restore.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"

namespace triodrill {
namespace {

// Down, and seen down. False: it could not be, or it is time to end.
Result<bool> GoDown(RouteSocket& socket, const FlapOrder& order, Nanos for_how_long, const ReasonsToEnd& reasons,
                    int* seen) {
  const Nanos begun = SinceBoot();
  TRIODRILL_RETURN_IF_ERROR(FindLinkForSure(socket, order.link).status());
  TRIODRILL_RETURN_IF_ERROR(socket.SetUp(order.link.ifindex(), false));
  const bool down = LookUntil(for_how_long, [&] {
    const Result<LinkState> now = FindLinkForSure(socket, order.link);
    return !now.ok() || (!now->Up() && !now->Running());
  });
  if (down) {
    ShowCount(kFlapCount, ++*seen);
    SayStarted();
  }
  return !reasons.Before(begun + for_how_long);
}

// Until there is a reason to end, or something went wrong; the interface may be down then.
Status FlapOn(RouteSocket& socket, const FlapOrder& order, const v1::LinkPrior& prior, const ReasonsToEnd& reasons) {
  ShowCount(kFlapCount, 0);
  int seen = 0;
  for (int64_t cycle = 0; order.count == 0 || cycle < order.count; ++cycle) {
    const FlapTimes times = TimesOfCycle(order, cycle);
    TRIODRILL_ASSIGN_OR_RETURN(const bool go_on, GoDown(socket, order, times.down, reasons, &seen));
    if (!go_on) return Ok();
    const Nanos up_at = SinceBoot();
    // Not all may be back before it goes down again: that is what a fast flap does.
    const LinkPatience patience{std::min(times.up, LinkPatience{}.carrier), std::min(times.up, LinkPatience{}.whole)};
    Status whole = BringLinkUp(order.link, prior, patience);
    if (!whole.ok() && !absl::IsDeadlineExceeded(whole)) return whole;
    if (reasons.Before(up_at + times.up)) return Ok();
  }
  Status whole = BringLinkUp(order.link, prior);
  reasons.Before(order.common.until);  // what was asked for is done; who asked still looks for this process
  return whole;
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kFlapProgram, status); };
  const Result<FlapOrder> order = ParseFlapArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  Result<RouteSocket> socket = RouteSocket::Open();
  if (!socket.ok()) return failed(socket.status());
  const Result<LinkState> link = FindLinkForSure(*socket, order->link);
  if (!link.ok()) return failed(link.status());
  if (!link->Up()) return failed(absl::FailedPreconditionError("the interface is down already"));
  const Result<v1::LinkPrior> prior = ReadLinkPrior(*socket, *link);
  if (!prior.ok()) return failed(prior.status());
  if (reasons->Now()) return 0;
  const Status flapped = FlapOn(*socket, *order, *prior, *reasons);
  Status whole = BringLinkUp(order->link, *prior);
  return flapped.ok() && whole.ok() ? 0 : failed(flapped.ok() ? whole : flapped);
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
