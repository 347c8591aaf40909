#include "coordinator/fleet/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::fleet {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = AgentEvent::Kind;

v1::AgentSays Hello(const std::string& node = "n1") {
  v1::AgentSays says;
  says.mutable_hello()->set_node(node);
  return says;
}

// A session whose agent answers every probe after 50 µs each way.
class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    options_.run_id = "r1";
    options_.lease = seconds(4);
    options_.nodes = {"n1"};
    options_.exchanges = 3;
  }

  Session::Outcome Answer(Session& session, const v1::CoordinatorSays& probe) {
    session.ProbeWritten(probe.clock().sequence(), now_);
    v1::AgentSays says;
    says.mutable_clock()->set_sequence(probe.clock().sequence());
    says.mutable_clock()->set_received_node_ns(ToNanos(now_ + microseconds(50) + offset_));
    says.mutable_clock()->set_sent_node_ns(ToNanos(now_ + microseconds(51) + offset_));
    now_ += microseconds(101);
    return session.OnSaid(says, now_);
  }

  // Answers probes until none comes; returns all events.
  std::vector<AgentEvent> Finish(Session& session, Session::Outcome outcome) {
    std::vector<AgentEvent> events = std::move(outcome.events);
    while (!outcome.say.empty() && outcome.say.back().has_clock()) {
      outcome = Answer(session, outcome.say.back());
      for (AgentEvent& event : outcome.events) events.push_back(std::move(event));
    }
    return events;
  }

  Session Connected() {
    Session session(options_, now_);
    Finish(session, session.OnSaid(Hello(), now_));
    EXPECT_TRUE(session.connected());
    return session;
  }

  Options options_;
  TimePoint now_ = FromNanos(1'000'000'000);
  Nanos offset_{0};
};

TEST_F(SessionTest, WelcomesAndMeasuresBeforeItAnnounces) {
  Session session(options_, now_);
  const auto outcome = session.OnSaid(Hello(), now_);
  ASSERT_EQ(outcome.say.size(), 2u);
  EXPECT_EQ(outcome.say[0].welcome().run_id(), "r1");
  EXPECT_EQ(outcome.say[0].welcome().lease_ns(), 4'000'000'000);
  EXPECT_TRUE(outcome.say[1].has_clock());
  EXPECT_TRUE(outcome.events.empty());

  const auto events = Finish(session, outcome);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kConnected);
  EXPECT_EQ(events[0].said.hello().node(), "n1");
  EXPECT_EQ(events[0].offset.exchanges, 3);
  EXPECT_LE(events[0].offset.earliest, Nanos(0));
  EXPECT_GE(events[0].offset.latest, Nanos(0));
  EXPECT_EQ(events[1].kind, Kind::kClock);
}

TEST_F(SessionTest, HoldsBackWhatIsSaidDuringTheFirstMeasurement) {
  Session session(options_, now_);
  const auto outcome = session.OnSaid(Hello(), now_);
  v1::AgentSays reverted;
  reverted.mutable_reverted()->set_shot("1.a.0");
  EXPECT_TRUE(session.OnSaid(reverted, now_).events.empty());
  const auto events = Finish(session, outcome);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].kind, Kind::kSaid);
  EXPECT_EQ(events[2].said.reverted().shot(), "1.a.0");
  EXPECT_EQ(events[2].offset.exchanges, 3);
}

TEST_F(SessionTest, RefusesAnythingBeforeTheHello) {
  Session session(options_, now_);
  v1::AgentSays says;
  says.mutable_heartbeat();
  EXPECT_NE(session.OnSaid(says, now_).close, "");
}

TEST_F(SessionTest, RefusesASecondHello) {
  Session session = Connected();
  EXPECT_NE(session.OnSaid(Hello(), now_).close, "");
}

TEST_F(SessionTest, PassesOnWhatIsSaidButKeepsHeartbeats) {
  Session session = Connected();
  v1::AgentSays says;
  says.mutable_landed()->set_shot("1.a.0");
  const auto outcome = session.OnSaid(says, now_);
  ASSERT_EQ(outcome.events.size(), 1u);
  EXPECT_EQ(outcome.events[0].kind, Kind::kSaid);
  EXPECT_EQ(outcome.events[0].at, now_);
  v1::AgentSays heartbeat;
  heartbeat.mutable_heartbeat();
  EXPECT_TRUE(session.OnSaid(heartbeat, now_).events.empty());
}

TEST_F(SessionTest, RenewsTheLeaseEachQuarter) {
  Session session = Connected();
  now_ += seconds(1);
  v1::AgentSays heartbeat;
  heartbeat.mutable_heartbeat();
  session.OnSaid(heartbeat, now_);
  ASSERT_LE(session.NextDeadline(), now_);
  const auto outcome = session.OnTime(now_);
  ASSERT_EQ(outcome.say.size(), 1u);
  EXPECT_TRUE(outcome.say[0].has_lease());
  EXPECT_GT(session.NextDeadline(), now_);
}

TEST_F(SessionTest, GivesUpAnAgentThatWasSilentForTheLease) {
  Session session = Connected();
  now_ += seconds(4);
  EXPECT_NE(session.OnTime(now_).close, "");
  const auto lost = session.Lost("silent", now_);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->kind, Kind::kLost);
  EXPECT_EQ(lost->problem, "silent");
}

TEST_F(SessionTest, GivesUpAStrangerThatNeverSaysHello) {
  Session session(options_, now_);
  EXPECT_EQ(session.OnTime(now_ + seconds(4)).close, "");
  EXPECT_NE(session.OnTime(now_ + seconds(5)).close, "");
  EXPECT_FALSE(session.Lost("x", now_).has_value()) << "nobody was told that it came";
}

TEST_F(SessionTest, MeasuresAgainWhenItIsTimeAndWhenAsked) {
  options_.measure_every = milliseconds(100);
  Session session = Connected();
  const auto asked = session.Measure();
  ASSERT_EQ(asked.say.size(), 1u);
  EXPECT_TRUE(session.Measure().say.empty()) << "one at a time";
  auto events = Finish(session, asked);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kClock);
  EXPECT_EQ(events[0].offset.exchanges, 6);

  now_ += milliseconds(100);
  events = Finish(session, session.OnTime(now_));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].problem, "");
}

TEST_F(SessionTest, SaysWhenAClockWasStepped) {
  Session session = Connected();
  offset_ = seconds(1);
  const auto events = Finish(session, session.Measure());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].problem, "");
  EXPECT_GE(events[0].offset.latest, seconds(1));
}

TEST_F(SessionTest, IgnoresAClockReplyToNothing) {
  Session session = Connected();
  v1::AgentSays says;
  says.mutable_clock()->set_sequence(99);
  const auto outcome = session.OnSaid(says, now_);
  EXPECT_TRUE(outcome.events.empty());
  EXPECT_EQ(outcome.close, "");
}

}  // namespace
}  // namespace triodrill::fleet
