#include "injectors/link/rate.h"

#include <algorithm>

#include "injectors/link/qdisc.h"

namespace triodrill {

Result<Shape> HowToRate(const v1::AimedFault& fault, uint32_t mtu) {
  constexpr int64_t kMost = 0xffffffff;
  constexpr uint32_t kEthernetHeader = 14;
  const v1::LinkRate& with = fault.with().link_rate();
  if (with.rate() < 8000 || with.burst() < 0 || with.burst() > kMost) {
    return absl::InvalidArgumentError(
        Cat("prepare ", fault.kind(), ": a rate of 8 kbit/s at least is needed, and a burst below 4 GiB"));
  }
  const int64_t bytes_per_s = with.rate() / 8;
  // The kernel's timers are good for a few ms: with a smaller burst the rate would not be reached.
  const int64_t at_once = std::clamp<int64_t>(bytes_per_s / 250, 16 << 10, kMost);
  const auto burst = static_cast<uint32_t>(with.burst() != 0 ? with.burst() : at_once);
  if (burst < mtu + kEthernetHeader) {
    return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": a burst of ", burst, " bytes lets no packet of ",
                                          mtu + kEthernetHeader, " through; leave it out, or make it larger"));
  }
  // What waits longer than 50 ms is dropped, as a full switch would.
  const int64_t queue = std::min<int64_t>(kMost, bytes_per_s / 20 + burst);
  const TokenBucket bucket{static_cast<uint64_t>(bytes_per_s), burst, static_cast<uint32_t>(queue)};
  return Shape{"tbf", TokenBucketOptions(bucket),
               [bucket](std::string_view options) { return SameTokenBucket(bucket, options); },
               Cat("rate ", with.rate(), " bit/s, burst ", burst, " bytes")};
}

std::unique_ptr<Injector> MakeLinkRate() { return MakeRootQdiscFault(&HowToRate); }

v1::Capability ProbeLinkRate() { return ProbeRootQdiscFault("link.rate", "tbf"); }

}  // namespace triodrill
