// Prometheus and Alertmanager asked over real sockets: bounds, outages, and that nothing but GET ever leaves.
#include "coordinator/watch/monitoring_watch.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/watch/monitoring_rig.h"

namespace triodrill::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr char kXid[] = R"({"metric":{"Hostname":"n1","gpu":"1"},"value":[1,"79"]})";

class Watching : public MonitoringRig {
 protected:
  static std::string Listed(const std::string& starts_at, const std::string& state = "active") {
    return absl::StrFormat(R"([{"fingerprint":"00ab","startsAt":"%s","endsAt":"2030-01-01T00:00:00Z","updatedAt":"x",)"
                           R"("status":{"state":"%s","inhibitedBy":[],"silencedBy":[]},"receivers":[{"name":"drill"}],)"
                           R"("labels":{"alertname":"GpuXid","Hostname":"n1","gpu":"1"},"annotations":{}}])",
                           starts_at, state);
  }
  void ExpectProblem(const std::string& text) {
    const auto watch = MonitoringWatch::Start(pipeline_, partition_, kWebhookProgram, clock_, seen_.Sink());
    EXPECT_FALSE(watch.ok());
    EXPECT_THAT(std::string(watch.status().message()), HasSubstr(text));
  }
  std::vector<Observed> AwaitGaps(size_t count) {
    const auto gaps = [](const std::vector<Observed>& all) {
      std::vector<Observed> found;
      for (const Observed& one : all) {
        if (one.fact.has_monitoring_gap()) found.push_back(one);
      }
      return found;
    };
    return gaps(seen_.Await([&](const auto& all) { return gaps(all).size() >= count; }));
  }
};

TEST_F(Watching, AProfileWithoutMonitoringIsNotWatched) {
  pipeline_.clear_monitoring();
  const auto watch = MonitoringWatch::Start(pipeline_, partition_, kWebhookProgram, clock_, seen_.Sink());
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(*watch, nullptr);
}

TEST_F(Watching, ASeriesThatAppearsIsAnObservationWithItsBounds) {
  Watch();
  const TimePoint before = clock_.Now();
  Series(kXid);
  const TimePoint switched = clock_.Now();
  const auto signals = seen_.Signals(1);
  const TimePoint after = clock_.Now();
  ASSERT_THAT(signals, SizeIs(1));
  EXPECT_EQ(signals[0].fact.signal().signal(), "scraped");
  EXPECT_EQ(signals[0].fact.signal().named(), "n1/1");
  EXPECT_THAT(signals[0].fact.signal().source(), HasSubstr("query DCGM_FI_DEV_XID_ERRORS > 0"));
  EXPECT_GE(signals[0].at.latest, before);
  EXPECT_LE(signals[0].at.latest, after);
  EXPECT_LE(signals[0].at.earliest, switched - milliseconds(200));  // the last without it, less one scrape
  EXPECT_GE(signals[0].at.Width(), milliseconds(200));
  prometheus_.AwaitRequests(5);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Watching, WhatIsThereAtTheBeginningIsOld) {
  Series(kXid);
  const std::string starts_at = StartsAt(seconds(60));
  alertmanager_.Say("/api/v2/alerts", Listed(starts_at));
  Watch();
  EXPECT_EQ(Post(WebhookBody("firing", starts_at)), 200);  // its repetition
  prometheus_.AwaitRequests(5);
  EXPECT_THAT(seen_.Signals(0), IsEmpty());
}

TEST_F(Watching, AnAlertThatIsListedIsToldOnceAndASilencedOneNever) {
  alertmanager_.Say("/api/v2/alerts", Listed(StartsAt(seconds(1)), "suppressed"));
  Watch();
  prometheus_.AwaitRequests(3);
  EXPECT_THAT(seen_.Signals(0), IsEmpty());
  alertmanager_.Say("/api/v2/alerts", Listed(StartsAt(milliseconds(300))));
  const auto signals = seen_.Signals(1);
  ASSERT_THAT(signals, SizeIs(1));
  EXPECT_EQ(signals[0].fact.signal().signal(), "listed");
  prometheus_.AwaitRequests(5);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Watching, OfAServerThatDoesNotAnswerIsRefusedFromTheStart) {
  prometheus_.On("/api/v1/query", [](const auto&, httplib::Response& response) { response.status = 503; });
  ExpectProblem("status 503");
  Answer();
  alertmanager_.Say("/api/v2/alerts", "<html>");
  ExpectProblem("read JSON");
  Answer();
  pipeline_.mutable_monitoring()->set_alertmanager("http://127.0.0.1:1");
  ExpectProblem("no whole answer");
}

TEST_F(Watching, HalfAnswersAreNoObservationAndBecomeAGap) {
  Watch();
  prometheus_.On("/api/v1/query", [](const auto&, httplib::Response& response) {
    const std::string half = std::string(R"({"status":"success","data":{"resultType":"vector","result":[)") + kXid;
    response.set_content_provider(half.size() + 100, "application/json",
                                  [half](size_t offset, size_t, httplib::DataSink& sink) {
                                    if (offset > 0) return false;
                                    sink.write(half.data(), half.size());
                                    return true;
                                  });
  });
  const auto gaps = AwaitGaps(1);
  ASSERT_THAT(gaps, testing::Not(IsEmpty()));
  EXPECT_EQ(gaps[0].fact.monitoring_gap().source(), "prometheus");
  EXPECT_GE(gaps[0].at.Width(), seconds(3));
  EXPECT_THAT(watch_->Problems(), testing::Not(IsEmpty()));
  EXPECT_THAT(seen_.Signals(0), IsEmpty());
  Answer();
  seen_.Await([&](const auto&) { return watch_->Problems().empty(); });
  EXPECT_THAT(watch_->Problems(), IsEmpty());
  EXPECT_TRUE(AwaitGaps(2).back().fact.monitoring_gap().over());
  Series(kXid);
  EXPECT_THAT(seen_.Signals(1), SizeIs(1));
}

TEST_F(Watching, NothingButGetIsEverSent) {
  for (const char* const path : {"/api/v2/silences"}) alertmanager_.Say(path, "[]");
  alertmanager_.Say("/api/v2/status", R"({"config":{"original":"route: {}"},"uptime":"x"})");
  prometheus_.Say("/api/v1/rules", R"({"status":"success","data":{"groups":[]}})");
  prometheus_.Say("/api/v1/status/config", R"({"status":"success","data":{"yaml":"global: {}"}})");
  Watch();
  ASSERT_TRUE(watch_->Fingerprint().ok()) << watch_->Fingerprint().status();
  Series(kXid);
  alertmanager_.Say("/api/v2/alerts", Listed(StartsAt(milliseconds(300))));
  EXPECT_EQ(Post(WebhookBody("firing", StartsAt(milliseconds(500)))), 200);
  EXPECT_THAT(seen_.Signals(3), SizeIs(3));
  prometheus_.AwaitRequests(5);
  ASSERT_TRUE(watch_->Fingerprint().ok());
  watch_.reset();
  std::set<std::string> asked;
  for (const AnsweringServer* server : {&prometheus_, &alertmanager_}) {
    for (const std::string& request : server->Requests()) {
      EXPECT_THAT(request, StartsWith("GET "));
      asked.insert(request);
    }
  }
  EXPECT_THAT(asked,
              testing::UnorderedElementsAre("GET /api/v1/query", "GET /api/v1/rules", "GET /api/v1/status/config",
                                            "GET /api/v2/alerts", "GET /api/v2/silences", "GET /api/v2/status"));
}

// Keeps a server's answer back until the test is done with it.
class Gate {
 public:
  bool OpenWithin(milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return open_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class Reading : public MonitoringRig {
 protected:
  Result<HttpReader::Answer> Get(HttpReader::Options options) {
    options.url = prometheus_.url();
    const auto reader = HttpReader::Create(std::move(options), clock_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return (*reader)->Get("/x");
  }
};

TEST_F(Reading, SendsTheTokenAlongAndFollowsNoRedirect) {
  std::string authorization;
  prometheus_.On("/x", [&](const httplib::Request& request, httplib::Response& response) {
    authorization = request.get_header_value("Authorization");
    response.set_redirect(absl::StrCat(alertmanager_.url(), "/y"));
  });
  const auto answer = Get({.url = {}, .token = "read-only"});
  EXPECT_FALSE(answer.ok());
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("status 302"));
  EXPECT_EQ(authorization, "Bearer read-only");
  EXPECT_THAT(alertmanager_.Requests(), IsEmpty());
}

TEST_F(Reading, GivesUpOnAnAnswerThatIsTooLargeOrTooSlow) {
  prometheus_.Say("/x", std::string(2000, 'x'));
  EXPECT_THAT(std::string(Get({.url = {}, .token = {}, .most_bytes = 1000}).status().message()),
              HasSubstr("too large"));
  // A byte now and then, for ever: no single wait is long.
  const auto gate = std::make_shared<Gate>();
  prometheus_.On("/x", [gate](const auto&, httplib::Response& response) {
    response.set_chunked_content_provider("application/json", [gate](size_t, httplib::DataSink& sink) {
      return !gate->OpenWithin(milliseconds(20)) && sink.write("x", 1);
    });
  });
  const auto answer = Get({.url = {}, .token = {}, .timeout = milliseconds(200)});
  gate->Open();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("takes too long"));
}

TEST_F(Reading, AnAnswerThatNeverComesEndsWithTheTimeOut) {
  const auto gate = std::make_shared<Gate>();
  prometheus_.On("/x", [gate](const auto&, httplib::Response&) { gate->OpenWithin(seconds(20)); });
  const auto answer = Get({.url = {}, .token = {}, .timeout = milliseconds(200)});
  gate->Open();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("no whole answer"));
}

TEST(QueryEscaped, LeavesNothingThatMeansSomethingElse) {
  EXPECT_EQ(QueryEscaped("a{b=\"c d\"} > 0 & e+f"), "a%7Bb%3D%22c%20d%22%7D%20%3E%200%20%26%20e%2Bf");
}

}  // namespace
}  // namespace triodrill::watch
