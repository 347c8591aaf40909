// Alertmanager's webhook over real sockets: what becomes an observation, and what never does.
#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <sstream>

#include "coordinator/watch/webhook_frames.h"
#include "tests/unit/watch/monitoring_rig.h"

namespace triodrill::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The rig's time-out; a slower one was none. And what a clock may drift meanwhile.
constexpr milliseconds kSlowestAnswer{2100};

class Webhooks : public MonitoringRig {
 protected:
  size_t Gaps() {
    size_t gaps = 0;
    for (const Observed& one : seen_.All()) gaps += one.fact.has_monitoring_gap() ? 1 : 0;
    return gaps;
  }
};

TEST_F(Webhooks, AFiringIsToldOnceWithItsSlotAndItsBounds) {
  Watch();
  const TimePoint written = clock_.Now();
  const std::string body = WebhookBody("firing", StartsAt(milliseconds(500)));
  const TimePoint before = clock_.Now();
  EXPECT_EQ(Post(body), 200);
  const TimePoint after = clock_.Now();
  const auto signals = seen_.Signals(1);
  ASSERT_THAT(signals, SizeIs(1));
  EXPECT_EQ(signals[0].fact.signal().signal(), "fired");
  EXPECT_EQ(signals[0].fact.signal().named(), "n1/1");
  EXPECT_THAT(signals[0].fact.signal().source(), HasSubstr("alertmanager webhook, evaluated "));
  EXPECT_GE(signals[0].at.latest, before);
  EXPECT_LE(signals[0].at.latest, after);
  // startsAt less one evaluation, as exactly as the answer to the question for the time allows.
  EXPECT_LE(signals[0].at.earliest, before - milliseconds(800));
  EXPECT_GE(signals[0].at.earliest, written - milliseconds(802) - kSlowestAnswer);

  EXPECT_EQ(Post(body), 200);  // Alertmanager repeats and retries
  EXPECT_EQ(Post(WebhookBody("resolved", StartsAt(milliseconds(500)), "n1", "00ac")), 200);
  EXPECT_EQ(Post(WebhookBody("firing", StartsAt(milliseconds(10)))), 200);  // it fires anew
  EXPECT_THAT(seen_.Signals(2), SizeIs(2));
}

TEST_F(Webhooks, AClockAnHourOffMovesNothing) {
  size_t told = 0;
  for (const int64_t hours : {-1, 1}) {
    skew_ms_ = hours * 3'600'000;
    Watch();
    const TimePoint written = clock_.Now();
    const std::string body = WebhookBody("firing", StartsAt(milliseconds(500)));
    const TimePoint before = clock_.Now();
    ASSERT_EQ(Post(body), 200);
    const auto signals = seen_.Signals(++told);
    ASSERT_THAT(signals, SizeIs(told));
    EXPECT_LE(signals.back().at.earliest, before - milliseconds(800));
    EXPECT_GE(signals.back().at.earliest, written - milliseconds(802) - kSlowestAnswer);
    watch_.reset();
  }
}

TEST_F(Webhooks, AStartInTheFutureIsNotUsed) {
  Watch();
  ASSERT_EQ(Post(WebhookBody("firing", StartsAt(-seconds(3600)))), 200);
  const auto signals = seen_.Signals(1);
  ASSERT_THAT(signals, SizeIs(1));
  EXPECT_LE(signals[0].at.earliest, signals[0].at.latest);
  EXPECT_THAT(signals[0].fact.signal().source(), HasSubstr("its time is not used"));
}

TEST_F(Webhooks, UnknownFieldsArePassedOver) {
  Watch();
  std::string body = WebhookBody("firing", StartsAt(milliseconds(500)));
  body.insert(1, R"("new":{"deep":[1,2,{"x":null}]},)");
  EXPECT_EQ(Post(body), 200);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Webhooks, AMessageFromWhichAlertsWereLeftOutIsAGap) {
  Watch();
  EXPECT_EQ(Post(WebhookBody("firing", StartsAt(milliseconds(500)), "n1", "00ab", 3)), 200);
  const auto all = seen_.Await([](const auto& seen) { return seen.size() >= 2; });
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
  EXPECT_EQ(Gaps(), 1u);
  EXPECT_THAT(all.back().fact.monitoring_gap().problem(), HasSubstr("left 3 alerts out"));
}

TEST_F(Webhooks, OnlyAPostToItsOwnPathIsTaken) {
  Watch();
  httplib::Client client("127.0.0.1", watch_->receiver()->port());
  const std::string body = WebhookBody("firing", StartsAt(milliseconds(500)));
  EXPECT_GE(client.Get("/alerts")->status, 400);
  EXPECT_GE(client.Put("/alerts", body, "application/json")->status, 400);
  EXPECT_GE(client.Delete("/alerts")->status, 400);
  EXPECT_GE(client.Post("/", body, "application/json")->status, 400);
  EXPECT_THAT(seen_.Signals(0), SizeIs(0));
}

// One way to spoil a whole body, chosen by chance. None of what it makes is a webhook.
std::string Hostile(std::mt19937_64& dice, const std::string& whole) {
  const auto pick = [&](size_t below) { return static_cast<size_t>(dice() % below); };
  const auto replaced = [&](const std::string& old, const std::string& with) {
    std::string body = whole;
    const size_t at = body.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return body.replace(at, old.size(), with);
  };
  static const char* const kTypes[] = {"null", "true", "0", "-1e999", "[]", "{}", "[[\"x\"]]", "1.5"};
  const std::string other = kTypes[pick(std::size(kTypes))];
  switch (pick(12)) {
    case 0:
      return whole.substr(0, pick(whole.size()));  // cut short
    case 1:
      return replaced("\"version\":\"4\"", "\"version\":" + other);
    case 2:
      return replaced("\"fingerprint\":\"00ab\"", "\"fingerprint\":" + other);
    case 3:
      return replaced("\"labels\":{", "\"labels\":[],\"x\":{");
    case 4:
      return replaced("\"alerts\":[{", "\"alerts\":[" + (other == "[]" ? "7" : other) + ",{");
    case 5:
      return replaced("\"gpu\":\"1\"", "\"gpu\":" + other);
    case 6: {
      const size_t depth = 40 + pick(100'000);
      return replaced("\"annotations\":{}", "\"annotations\":" + std::string(depth, '[') + std::string(depth, ']'));
    }
    case 7:
      return replaced("http://am", std::string(kMostWebhookBytes + pick(1000), 'a'));
    case 8: {
      std::string body(pick(4000), '\0');
      for (char& c : body) c = static_cast<char>(dice());
      return body;
    }
    case 9:
      return replaced("\"receiver\":\"drill\"", "\"receiver\":\"\xc3\x28\"");  // not UTF-8
    case 10:
      return replaced("\"startsAt\":\"2", "\"startsAt\":\"infinite-future-2");
    default:
      return replaced("\"alertname\":", "\"alertName\":");
  }
}

TEST_F(Webhooks, AHundredHostileBodiesAreNothing) {
  Watch();
  std::mt19937_64 dice(20261130);
  const std::string whole = WebhookBody("firing", StartsAt(milliseconds(500)));
  for (int i = 0; i < 100; ++i) {
    const std::string body = Hostile(dice, whole);
    const int status = Post(body);
    EXPECT_TRUE(status == 0 || status >= 400) << i << ": " << status << " for " << body.substr(0, 400);
  }
  EXPECT_THAT(seen_.Signals(0), SizeIs(0));
  size_t remarks = 0;
  for (const Observed& one : seen_.All()) remarks += one.fact.has_remark() ? 1 : 0;
  EXPECT_GE(remarks, 1u);
  EXPECT_LE(remarks, 10u);  // however many there are, the timeline is not theirs to fill
  EXPECT_EQ(Post(whole), 200);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Webhooks, ACompressedBodyMayNotUnpackToMore) {
  Watch();
  httplib::Client client("127.0.0.1", watch_->receiver()->port());
  client.set_compress(true);
  const auto result = client.Post("/alerts", std::string(16 << 20, ' '), "application/json");
  EXPECT_TRUE(!result || result->status >= 400);
  EXPECT_EQ(Post(WebhookBody("firing", StartsAt(milliseconds(500)))), 200);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Webhooks, RootsPortsAndPortsOfOthersAreRefused) {
  const auto problem = [&](const std::string& listen) {
    const auto receiver = WebhookReceiver::Start(kWebhookProgram, listen, clock_, {});
    return std::string(receiver.status().message());
  };
  EXPECT_THAT(problem("127.0.0.1:80"), HasSubstr("root's"));
  EXPECT_THAT(problem("localhost:9099"), HasSubstr("IPv4"));
  EXPECT_THAT(problem("127.0.0.1"), HasSubstr("ADDRESS:PORT"));
  EXPECT_THAT(problem(absl::StrCat("127.0.0.1:", prometheus_.port())), HasSubstr("listen for webhooks on 127.0.0.1"));
}

// Whoever runs the drill: the process that holds the socket cannot be root, nor become it again.
TEST_F(Webhooks, NothingListensAsRoot) {
  Watch();
  std::ostringstream text;
  text << std::ifstream(absl::StrCat("/proc/", watch_->receiver()->process(), "/status")).rdbuf();
  const std::string status = text.str();
  ASSERT_THAT(status, HasSubstr("triodrill-webho"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, Not(ContainsRegex("[UG]id:(\t[0-9]+)*\t0[\t\n]")));
  EXPECT_THAT(status, ContainsRegex("Groups:[ \t]*[0-9 ]*\n"));
  if (geteuid() == 0) {
    EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
    EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534\n"));
    EXPECT_THAT(status, ContainsRegex("Groups:[ \t]*\n"));
    EXPECT_THAT(status, ContainsRegex("CapEff:\t0+\n"));
  }
}

TEST_F(Webhooks, AReceiverThatDiesIsAGapAndAProblem) {
  Watch();
  EXPECT_THAT(watch_->Problems(), IsEmpty());
  ASSERT_EQ(kill(watch_->receiver()->process(), SIGKILL), 0);
  const auto all = seen_.Await([](const std::vector<Observed>& seen) {
    return std::any_of(seen.begin(), seen.end(), [](const Observed& one) { return one.fact.has_monitoring_gap(); });
  });
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].fact.monitoring_gap().source(), "webhook");
  EXPECT_FALSE(all[0].fact.monitoring_gap().over());
  EXPECT_THAT(watch_->Problems(), ElementsAre(HasSubstr("is gone")));
}

// Its end of the pair closes with the coordinator, however that ends.
TEST_F(Webhooks, TheReceiverEndsWithTheWatch) {
  Watch();
  const pid_t process = watch_->receiver()->process();
  watch_.reset();
  EXPECT_EQ(kill(process, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(WebhookFrames, WhatIsNotAgreedIsRefused) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ASSERT_TRUE(SendFrame(ends[0], {FrameKind::kBody, std::string("a\0b", 3)}).ok());
  const auto whole = ReceiveFrame(ends[1]);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->kind, FrameKind::kBody);
  EXPECT_EQ(whole->bytes, std::string("a\0b", 3));
  for (const std::string& header : {std::string("q\0\0\0\0", 5), std::string("b\1\0\0\xff", 5)}) {
    ASSERT_EQ(send(ends[0], header.data(), header.size(), 0), 5);
    EXPECT_EQ(ReceiveFrame(ends[1]).status().code(), absl::StatusCode::kInvalidArgument);
  }
  ASSERT_EQ(send(ends[0], "b\4\0\0\0ab", 7, 0), 7);
  close(ends[0]);
  EXPECT_EQ(ReceiveFrame(ends[1]).status().code(), absl::StatusCode::kUnavailable);
  close(ends[1]);
}

}  // namespace
}  // namespace triodrill::watch
