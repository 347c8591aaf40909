#include "coordinator/fleet/session.h"

#include <algorithm>
#include <utility>

namespace triodrill::fleet {
namespace {

// An agent that dialled says Hello at once; it is not timed by the lease, which may be shorter than a slow start.
constexpr Nanos kPatienceForHello = std::chrono::seconds(5);
// Far more than an agent can say during one measurement.
constexpr size_t kMostHeld = 4096;

}  // namespace

Session::Session(const Options& options, TimePoint opened)
    : options_(options),
      opened_(opened),
      estimator_(options.drift_ppb),
      last_heard_(opened),
      next_renewal_(opened + options.lease / 4),
      next_measure_(opened + options.measure_every) {}

AgentEvent Session::Event(AgentEvent::Kind kind, TimePoint at) const {
  AgentEvent event;
  event.kind = kind;
  event.node = node_;
  event.at = at;
  event.offset = estimator_.Bounds(at).value_or(OffsetBounds{});
  return event;
}

v1::CoordinatorSays Session::NextProbe() {
  v1::CoordinatorSays probe;
  probe.mutable_clock()->set_sequence(++sequence_);
  asked_.reset();
  return probe;
}

Session::Outcome Session::OnSaid(v1::AgentSays said, TimePoint at) {
  last_heard_ = std::max(last_heard_, at);
  if (said.has_hello()) return OnHello(std::move(said), at);
  if (node_.empty()) return {.close = "the first message of a stream must be Hello"};
  if (said.has_clock()) return OnClock(said.clock(), at);
  if (said.has_heartbeat()) return {};
  if (said.what_case() == v1::AgentSays::WHAT_NOT_SET) return {.close = "a message of a kind unknown here"};

  AgentEvent event = Event(AgentEvent::Kind::kSaid, at);
  event.said = std::move(said);
  if (connected_) {
    Outcome outcome;
    outcome.events.push_back(std::move(event));
    return outcome;
  }
  if (held_.size() >= kMostHeld) return {.close = "too many messages before the clock was measured"};
  held_.push_back(std::move(event));
  return {};
}

Session::Outcome Session::OnHello(v1::AgentSays said, TimePoint at) {
  if (!node_.empty()) return {.close = "a second Hello on one stream"};
  if (said.hello().node().empty()) return {.close = "a Hello without a node"};
  node_ = said.hello().node();
  hello_ = std::move(said);
  next_renewal_ = at + options_.lease / 4;

  Outcome outcome;
  v1::CoordinatorSays welcome;
  welcome.mutable_welcome()->set_run_id(options_.run_id);
  welcome.mutable_welcome()->set_lease_ns(options_.lease.count());
  outcome.say.push_back(std::move(welcome));
  to_go_ = options_.exchanges;
  outcome.say.push_back(NextProbe());
  return outcome;
}

Session::Outcome Session::OnClock(const v1::ClockReply& reply, TimePoint at) {
  if (to_go_ == 0 || reply.sequence() != sequence_ || !asked_) return {};  // an answer to nothing that is open
  const auto verdict = estimator_.Add({*asked_, reply.received_node_ns(), reply.sent_node_ns(), at});
  if (verdict == OffsetEstimator::Verdict::kStepped) stepped_ = true;
  if (verdict == OffsetEstimator::Verdict::kNonsense) return {.close = "a clock reply that contradicts itself"};

  Outcome outcome;
  if (--to_go_ > 0) {
    outcome.say.push_back(NextProbe());
    return outcome;
  }
  next_measure_ = at + options_.measure_every;
  if (!connected_) {
    connected_ = true;
    outcome.events.push_back(Event(AgentEvent::Kind::kConnected, at));
    outcome.events.back().said = hello_;
  }
  outcome.events.push_back(Event(AgentEvent::Kind::kClock, at));
  if (stepped_) outcome.events.back().problem = "a clock was stepped: what was measured before is forgotten";
  stepped_ = false;
  for (AgentEvent& held : held_) {
    held.offset = estimator_.Bounds(held.at).value_or(OffsetBounds{});
    outcome.events.push_back(std::move(held));
  }
  held_.clear();
  return outcome;
}

Session::Outcome Session::Measure() {
  if (node_.empty() || to_go_ > 0) return {};
  to_go_ = options_.exchanges;
  Outcome outcome;
  outcome.say.push_back(NextProbe());
  return outcome;
}

void Session::ProbeWritten(uint64_t sequence, TimePoint at) {
  if (sequence == sequence_) asked_ = at;
}

Session::Outcome Session::OnTime(TimePoint now) {
  if (!connected_ && now >= opened_ + std::max(kPatienceForHello, options_.lease)) {
    return {.close = node_.empty() ? "no Hello came" : "the clock could not be measured"};
  }
  if (node_.empty()) return {};
  if (now >= last_heard_ + options_.lease) return {.close = "silent for the whole lease"};

  Outcome outcome;
  if (now >= next_measure_) {
    outcome = Measure();
    next_measure_ = now + options_.measure_every;
  }
  if (now >= next_renewal_) {
    outcome.say.emplace_back().mutable_lease();
    next_renewal_ = now + options_.lease / 4;
  }
  return outcome;
}

TimePoint Session::NextDeadline() const {
  const TimePoint patience = opened_ + std::max(kPatienceForHello, options_.lease);
  if (node_.empty()) return patience;
  const TimePoint regular = std::min({last_heard_ + options_.lease, next_renewal_, next_measure_});
  return connected_ ? regular : std::min(regular, patience);
}

std::optional<AgentEvent> Session::Lost(std::string why, TimePoint at) const {
  if (!connected_) return std::nullopt;
  AgentEvent event;
  event.kind = AgentEvent::Kind::kLost;
  event.node = node_;
  event.at = at;
  event.problem = std::move(why);
  return event;
}

}  // namespace triodrill::fleet
