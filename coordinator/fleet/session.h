// What the coordinator knows of one agent on one stream, and what follows from what it says. Pure: times and messages
// in, messages and events out. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/fleet/fleet.h"

namespace triodrill::fleet {

class Session {
 public:
  // What to do next, in this order.
  struct Outcome {
    std::vector<v1::CoordinatorSays> say = {};
    std::vector<AgentEvent> events = {};
    std::string close = {};  // not empty: end the stream, for this reason
  };

  Session(const Options& options, TimePoint opened);

  // Everything is refused before the Hello, and a second Hello too.
  Outcome OnSaid(v1::AgentSays said, TimePoint at);

  // Renews the lease, starts a measurement, gives up a silent agent: whatever is due.
  Outcome OnTime(TimePoint now);
  TimePoint NextDeadline() const;

  // A probe is stamped when it is written, not when it is queued.
  void ProbeWritten(uint64_t sequence, TimePoint at);

  // A measurement starts now, unless one is under way.
  Outcome Measure();

  // The event of the end; nullopt if nobody was told of the beginning.
  std::optional<AgentEvent> Lost(std::string why, TimePoint at) const;

  const std::string& node() const { return node_; }  // empty before the Hello
  bool connected() const { return connected_; }
  std::optional<OffsetBounds> Offset(TimePoint now) const { return estimator_.Bounds(now); }

 private:
  Outcome OnHello(v1::AgentSays said, TimePoint at);
  Outcome OnClock(const v1::ClockReply& reply, TimePoint at);
  v1::CoordinatorSays NextProbe();
  AgentEvent Event(AgentEvent::Kind kind, TimePoint at) const;

  const Options options_;
  const TimePoint opened_;
  std::string node_;
  bool connected_ = false;
  v1::AgentSays hello_;
  std::vector<AgentEvent> held_;  // said before the first measurement was done

  OffsetEstimator estimator_;
  bool stepped_ = false;  // within the measurement under way
  int to_go_ = 0;         // exchanges of it still to come; 0 = none is under way
  uint64_t sequence_ = 0;
  std::optional<TimePoint> asked_;

  TimePoint last_heard_;
  TimePoint next_renewal_;
  TimePoint next_measure_;
};

}  // namespace triodrill::fleet
