#include "coordinator/fleet/offset.h"

#include <algorithm>
#include <cstdlib>

namespace triodrill::fleet {
namespace {

// How far two clocks may have moved apart in `age`; rounded up, so that a bound never gets too narrow.
Nanos Drift(Nanos age, int64_t drift_ppb) {
  // Through microseconds, so that no age overflows; one more of each unit makes up for what the divisions drop.
  const int64_t micros = std::abs(age.count()) / 1000 + 1;
  return Nanos(micros * drift_ppb / 1'000'000 + 1);
}

}  // namespace

OffsetBounds At(const OffsetBounds& bounds, TimePoint when) {
  const Nanos drift = Drift(when - bounds.measured, bounds.drift_ppb);
  OffsetBounds moved = bounds;
  moved.earliest -= drift;
  moved.latest += drift;
  moved.measured = when;
  return moved;
}

Instant ToCoordinator(const OffsetBounds& bounds, const v1::NodeInstant& instant) {
  const TimePoint earliest = FromNanos(instant.earliest_node_ns()) - bounds.latest;
  const TimePoint latest = FromNanos(instant.latest_node_ns()) - bounds.earliest;
  const Nanos before = Drift(earliest - bounds.measured, bounds.drift_ppb);
  const Nanos after = Drift(latest - bounds.measured, bounds.drift_ppb);
  return {earliest - before, latest + after};
}

int64_t ToNode(const OffsetBounds& bounds, TimePoint when) {
  return ToNanos(when + bounds.earliest + bounds.Width() / 2);
}

OffsetEstimator::Verdict OffsetEstimator::Add(const Exchange& exchange) {
  const Nanos whole = exchange.answered - exchange.asked;
  const Nanos on_node(exchange.sent_node_ns - exchange.received_node_ns);
  const Nanos drift = Drift(whole, drift_ppb_);
  const Nanos round_trip = std::max(Nanos(0), whole - on_node);
  if (whole < Nanos(0) || on_node < Nanos(0) || on_node > whole + drift) return Verdict::kNonsense;

  OffsetBounds seen{.earliest = FromNanos(exchange.sent_node_ns) - exchange.answered - drift,
                    .latest = FromNanos(exchange.received_node_ns) - exchange.asked + drift,
                    .min_round_trip = round_trip,
                    .exchanges = 1,
                    .measured = exchange.answered,
                    .drift_ppb = drift_ppb_};
  if (!known_) {
    known_ = seen;
    return Verdict::kTaken;
  }
  const OffsetBounds before = At(*known_, exchange.answered);
  seen.earliest = std::max(seen.earliest, before.earliest);
  seen.latest = std::min(seen.latest, before.latest);
  if (seen.earliest > seen.latest) {
    // Nothing that was known before is worth anything now; this exchange alone is.
    known_.reset();
    Add(exchange);
    return Verdict::kStepped;
  }
  seen.min_round_trip = std::min(round_trip, before.min_round_trip);
  seen.exchanges = before.exchanges + 1;
  known_ = seen;
  return Verdict::kTaken;
}

std::optional<OffsetBounds> OffsetEstimator::Bounds(TimePoint now) const {
  if (!known_) return std::nullopt;
  return At(*known_, now);
}

}  // namespace triodrill::fleet
