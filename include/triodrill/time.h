// Time as intervals. A thing that was observed happened between the last look that did not show it and the first that
// did; a duration between two such things has a shortest and a longest possible value. Nothing here reads a clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>

#include "google/protobuf/duration.pb.h"

namespace triodrill {

using Nanos = std::chrono::nanoseconds;

// A point on one monotonic clock, in nanoseconds. Which clock it is, is said where the value is kept.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Nanos>;

constexpr TimePoint FromNanos(int64_t ns) { return TimePoint(Nanos(ns)); }
constexpr int64_t ToNanos(TimePoint point) { return point.time_since_epoch().count(); }

// An instant known to lie in [earliest, latest]; earliest <= latest.
struct Instant {
  TimePoint earliest;
  TimePoint latest;

  static constexpr Instant Exactly(TimePoint point) { return {point, point}; }
  constexpr Nanos Width() const { return latest - earliest; }
  friend constexpr bool operator==(const Instant&, const Instant&) = default;
};

// A duration known to lie in [min, max].
struct Span {
  Nanos min;
  Nanos max;
  friend constexpr bool operator==(const Span&, const Span&) = default;
};

// From `from` to `to`. Two instants of which it is known that `to` did not come first: min is never below zero.
constexpr Span Between(const Instant& from, const Instant& to) {
  const Nanos zero{0};
  return {std::max(zero, Nanos(to.earliest - from.latest)), std::max(zero, Nanos(to.latest - from.earliest))};
}

// The clock of one machine. Implementations: SystemClock (injectors/ and coordinator/ each have their one file), fakes.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() = 0;  // CLOCK_MONOTONIC
};

inline Nanos ToNanos(const google::protobuf::Duration& duration) {
  return std::chrono::seconds(duration.seconds()) + Nanos(duration.nanos());
}
inline google::protobuf::Duration ToProto(Nanos nanos) {
  google::protobuf::Duration duration;
  duration.set_seconds(nanos.count() / 1'000'000'000);
  duration.set_nanos(static_cast<int32_t>(nanos.count() % 1'000'000'000));
  return duration;
}

}  // namespace triodrill
