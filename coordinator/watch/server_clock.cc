#include "coordinator/watch/server_clock.h"

namespace triodrill::watch {
namespace {

constexpr int64_t kSlewDivisor = 2000;  // 500 ppm

}  // namespace

ServerClock::Offset ServerClock::Aged(const Offset& offset, TimePoint now) {
  const Nanos drift = std::max(now - offset.at, offset.at - now) / kSlewDivisor;
  return {.least = offset.least - drift, .most = offset.most + drift, .at = now};
}

void ServerClock::Take(const Instant& asked, Nanos from, Nanos to) {
  const Offset fresh{.least = from - asked.latest.time_since_epoch(),
                     .most = to - asked.earliest.time_since_epoch(),
                     .at = asked.latest};
  if (offset_) {
    const Offset aged = Aged(*offset_, fresh.at);
    const Offset both{
        .least = std::max(aged.least, fresh.least), .most = std::min(aged.most, fresh.most), .at = fresh.at};
    if (both.least <= both.most) {
      offset_ = both;
      return;
    }
  }
  offset_ = fresh;
}

std::optional<Instant> ServerClock::Map(Nanos wall, TimePoint now) const {
  if (!offset_) return std::nullopt;
  const Offset aged = Aged(*offset_, now);
  return Instant{TimePoint(wall - aged.most), TimePoint(wall - aged.least)};
}

}  // namespace triodrill::watch
