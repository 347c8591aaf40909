#include "injectors/link/netem.h"

#include "injectors/link/qdisc.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

// netem's own default of 1000 packets would drop what a fast link has under way during a delay of some ms.
constexpr uint32_t kPackets = 1'000'000;

Shape ShapeOf(const Netem& netem, std::string text) {
  return Shape{"netem", NetemOptions(netem), [netem](std::string_view options) { return SameNetem(netem, options); },
               std::move(text)};
}

Result<uint32_t> ShareOf(const v1::AimedFault& fault, double percent) {
  if (percent > 0 && percent <= 100) return ShareOf32Bits(percent);
  return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": a share above 0% and up to 100% is needed"));
}

}  // namespace

Result<Shape> HowToDelay(const v1::AimedFault& fault, uint32_t /*mtu*/) {
  const v1::LinkDelay& with = fault.with().link_delay();
  const Nanos delay = ToNanos(with.delay());
  const Nanos jitter = ToNanos(with.jitter());
  if (delay <= Nanos(0) || jitter < Nanos(0) || jitter > delay || delay > std::chrono::seconds(10)) {
    return absl::InvalidArgumentError(
        Cat("prepare ", fault.kind(), ": a delay of up to 10 s is needed, and a jitter that is no longer than it"));
  }
  const Netem netem{static_cast<uint64_t>(delay.count()), static_cast<uint64_t>(jitter.count()), 0, 0, kPackets};
  return ShapeOf(netem, Cat("delay ", delay.count(), " ns, jitter ", jitter.count(), " ns"));
}

Result<Shape> HowToLose(const v1::AimedFault& fault, uint32_t /*mtu*/) {
  const double percent = fault.with().link_loss().share();
  TRIODRILL_ASSIGN_OR_RETURN(const uint32_t share, ShareOf(fault, percent));
  return ShapeOf({0, 0, share, 0, kPackets}, Cat("loss ", percent, "%"));
}

Result<Shape> HowToCorrupt(const v1::AimedFault& fault, uint32_t /*mtu*/) {
  const double percent = fault.with().link_corrupt().share();
  TRIODRILL_ASSIGN_OR_RETURN(const uint32_t share, ShareOf(fault, percent));
  return ShapeOf({0, 0, 0, share, kPackets}, Cat("corrupt ", percent, "%"));
}

std::unique_ptr<Injector> MakeLinkDelay() { return MakeRootQdiscFault(&HowToDelay); }
std::unique_ptr<Injector> MakeLinkLoss() { return MakeRootQdiscFault(&HowToLose); }
std::unique_ptr<Injector> MakeLinkCorrupt() { return MakeRootQdiscFault(&HowToCorrupt); }
v1::Capability ProbeLinkDelay() { return ProbeRootQdiscFault("link.delay", "netem"); }
v1::Capability ProbeLinkLoss() { return ProbeRootQdiscFault("link.loss", "netem"); }
v1::Capability ProbeLinkCorrupt() { return ProbeRootQdiscFault("link.corrupt", "netem"); }

}  // namespace triodrill
