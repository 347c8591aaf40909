// triodrill-dcgm: injects one value of one field into DCGM, again and again, through dcgmi, until told to end. One
// process; what it injected last is the newest that DCGM knows for some seconds more.
#include <string>
#include <vector>

#include "injectors/gpu/dcgm_order.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"
#include "injectors/process/run_to_end.h"

namespace triodrill {
namespace {

constexpr Nanos kOneCall = std::chrono::seconds(2);

Status Inject(const DcgmOrder& order) {
  TRIODRILL_ASSIGN_OR_RETURN(const ProgramEnd end,
                             RunToEnd(dcgm::InjectArguments(order.field, SecondsAhead(order.every)), kOneCall));
  return dcgm::CheckInjected(end.code, end.text);
}

// Ok if DCGM answers the value to whoever asks.
Status CheckAnswered(const DcgmOrder& order) {
  TRIODRILL_ASSIGN_OR_RETURN(const ProgramEnd end, RunToEnd(dcgm::WatchArguments(order.field), kOneCall));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string shown, dcgm::ShownValue(end.text, order.field.gpu));
  if (dcgm::Shows(shown, order.field.value)) return Ok();
  return absl::AbortedError(Cat("look at field ", order.field.id, " of GPU ", order.field.gpu, ": DCGM answers ", shown,
                                ", not ", order.field.value));
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kDcgmProgram, status); };
  const Result<DcgmOrder> order = ParseDcgmArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  ShowCount(kDcgmCount, 0);
  int seen = 0;
  for (Nanos next = SinceBoot(); !reasons->Before(next); next = std::max(next + order->every, SinceBoot())) {
    Status done = Inject(*order);
    if (done.ok() && seen == 0) done = CheckAnswered(*order);
    // One that does not come through later, the next one makes good.
    if (!done.ok() && seen == 0) return failed(done);
    if (!done.ok()) continue;
    ShowCount(kDcgmCount, ++seen);
    if (seen == 1) SayStarted();
    if (seen == 1) CloseStatus();
  }
  return 0;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
