// A program that knows nothing of Triodrill but what is installed: it reads a timeline's facts and does arithmetic on
// them.
#include <iostream>

#include "triodrill/exit_code.h"
#include "triodrill/injector.h"
#include "triodrill/slot.h"
#include "triodrill/status.h"
#include "triodrill/text.h"
#include "triodrill/time.h"
#include "triodrill/v1/timeline.pb.h"

namespace {

triodrill::Instant At(const triodrill::v1::Fact& fact) {
  return {triodrill::FromNanos(fact.at().earliest_ns()), triodrill::FromNanos(fact.at().latest_ns())};
}

triodrill::Result<triodrill::Span> Latency(const triodrill::v1::Fact& landed, const triodrill::v1::Fact& detected) {
  if (!landed.has_landed()) return absl::InvalidArgumentError("measure latency: the first fact is no landing");
  return triodrill::Between(At(landed), At(detected));
}

triodrill::v1::Fact Fact(int64_t earliest_ns, int64_t latest_ns) {
  triodrill::v1::Fact fact;
  fact.mutable_at()->set_earliest_ns(earliest_ns);
  fact.mutable_at()->set_latest_ns(latest_ns);
  return fact;
}

}  // namespace

int main() {
  triodrill::v1::Fact landed = Fact(1'000'000'000, 1'000'100'000);
  landed.mutable_landed()->set_slot(triodrill::Slot{.node = "n2", .local_rank = 0}.Name());
  const triodrill::v1::Fact detected = Fact(3'000'000'000, 3'002'000'000);
  const triodrill::Result<triodrill::Span> latency = Latency(landed, detected);
  const bool right = latency.ok() && latency->min.count() == 1'999'900'000 && latency->max.count() == 2'002'000'000;
  std::cout << triodrill::Cat(landed.landed().slot(), right ? ": right" : ": wrong") << "\n";
  return static_cast<int>(right ? triodrill::ExitCode::kPassed : triodrill::ExitCode::kFailed);
}
