// The distribution's Prometheus and Alertmanager, watched as a drill watches them: an XID of a shadow GPU goes through
// exporter, scrape, rule, Alertmanager and webhook, and each observation holds the truth.
#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

#include "coordinator/load/load.h"
#include "coordinator/watch/monitoring_watch.h"
#include "reports/measure/monitoring.h"
#include "tests/peers/monitoring_rig.h"

namespace triodrill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Program;
using testing::RealMonitoring;
using ::testing::SizeIs;
using testing::Slurp;

class Monitored : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::WhyNoMonitoring(); !why.empty()) GTEST_SKIP() << why;
    monitoring_ = std::make_unique<RealMonitoring>();
    state_ = monitoring_->Path("gpu-n1.state");
    GpuState({"make", state_, "--gpus", "2", "--node", "n1"});
    monitoring_->Export(state_, "n1");
    monitoring_->Start();
    ASSERT_TRUE(monitoring_->Watches(1)) << monitoring_->prometheus().Err();
  }

  void GpuState(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIODRILL_BIN_DIR "/triodrill-gpu-state");
    Program set(std::move(arguments), monitoring_->Path("set.out"), monitoring_->Path("set.err"));
    ASSERT_EQ(set.Wait(seconds(60)), 0) << set.Err();
  }

  // As the profile that is shipped says, at the addresses of this test.
  void Watch() {
    std::vector<Diagnostic> problems;
    v1::PipelineSpec pipeline =
        LoadPipeline(Slurp(TRIODRILL_SOURCE_DIR "/drills/pipelines/prometheus-alertmanager.yaml"), "profile", problems)
            .message.spec();
    ASSERT_TRUE(problems.empty()) << problems.front().Text();
    pipeline.mutable_monitoring()->set_prometheus(monitoring_->prometheus_url());
    pipeline.mutable_monitoring()->set_alertmanager(monitoring_->alertmanager_url());
    pipeline.mutable_monitoring()->set_webhook(monitoring_->webhook());
    v1::PartitionSpec partition;
    partition.add_nodes()->set_name("n1");
    partition.mutable_nodes(0)->set_slots(2);
    auto watch = watch::MonitoringWatch::Start(pipeline, partition, TRIODRILL_BIN_DIR "/triodrill-webhook",
                                               monitoring_->clock(), [this](std::vector<watch::Observed> seen) {
                                                 const std::lock_guard lock(mutex_);
                                                 for (watch::Observed& one : seen) seen_.push_back(std::move(one));
                                               });
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
  }

  std::vector<watch::Observed> Of(const std::string& signal) {
    const std::lock_guard lock(mutex_);
    std::vector<watch::Observed> found;
    for (const watch::Observed& one : seen_) {
      if (one.fact.signal().signal() == signal) found.push_back(one);
    }
    return found;
  }
  size_t Gaps() {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(
        std::count_if(seen_.begin(), seen_.end(), [](const auto& one) { return one.fact.has_monitoring_gap(); }));
  }
  void Take(const std::string& when) {
    auto taken = watch_->Fingerprint();
    ASSERT_TRUE(taken.ok()) << taken.status();
    v1::Fact fact;
    *fact.mutable_monitoring_fingerprint() = *std::move(taken);
    fact.mutable_monitoring_fingerprint()->set_when(when);
    timeline_.facts.push_back(std::move(fact));
  }

  std::unique_ptr<RealMonitoring> monitoring_;
  std::string state_;
  std::mutex mutex_;
  std::vector<watch::Observed> seen_;
  Timeline timeline_;
  std::unique_ptr<watch::MonitoringWatch> watch_;  // last: it hands on to what is above
};

TEST_F(Monitored, AnXidIsObservedInEachPlaceWithItsBoundsAndNothingIsChanged) {
  Watch();
  Take("before");
  Clock& clock = monitoring_->clock();
  const TimePoint before = clock.Now();
  GpuState({"set", state_, "--gpu", "1", "xid=79"});
  const TimePoint after = clock.Now();
  ASSERT_TRUE(Eventually(
      seconds(60), [&] { return !Of("xid-scraped").empty() && !Of("xid-listed").empty() && !Of("xid-fired").empty(); }))
      << monitoring_->prometheus().Err() << monitoring_->alertmanager().Err();
  const TimePoint seen = clock.Now();
  Take("after");

  for (const char* const signal : {"xid-scraped", "xid-listed", "xid-fired"}) {
    const auto observed = Of(signal);
    ASSERT_THAT(observed, SizeIs(1)) << signal;
    EXPECT_EQ(observed[0].fact.signal().named(), "n1/1") << signal;
    EXPECT_GT(observed[0].at.latest, before) << signal;
    EXPECT_LE(observed[0].at.latest, seen) << signal;
    std::cout << signal << ": " << std::chrono::duration<double>(observed[0].at.earliest - after).count() << " .. "
              << std::chrono::duration<double>(observed[0].at.latest - before).count() << " s after the XID; "
              << observed[0].fact.signal().source() << "\n";
  }
  // The XID itself, which the scraped sample shows: between the last answer without it, less a scrape, and the receipt.
  const Instant scraped = Of("xid-scraped")[0].at;
  EXPECT_LE(scraped.earliest, after);
  EXPECT_GE(scraped.latest, before);
  // The rule's evaluation came after it, so the one before that no more than an interval earlier. A millisecond is how
  // exactly Prometheus tells its time.
  for (const char* const signal : {"xid-listed", "xid-fired"}) {
    EXPECT_GE(Of(signal)[0].at.earliest, before - seconds(1) - milliseconds(1)) << signal;
    EXPECT_LT(Of(signal)[0].at.earliest, Of(signal)[0].at.latest) << signal;
  }
  const MonitoringFacts facts = MeasureMonitoring(timeline_);
  EXPECT_EQ(facts.problem, "");
  EXPECT_THAT(facts.changes, IsEmpty());
  EXPECT_GE(facts.parts, 5);  // a group of two rules, and two configurations
  EXPECT_EQ(Gaps(), 0u);

  // The alert resolves a minute later; nothing of that is an observation, and neither is what Alertmanager repeats.
  ASSERT_TRUE(Eventually(seconds(90), [&] {
    const auto listed = monitoring_->Get(monitoring_->alertmanager_url(), "/api/v2/alerts");
    return listed.ok() && !absl::StrContains(*listed, "GpuXid");
  }));
  EXPECT_THAT(Of("xid-fired"), SizeIs(1));
  EXPECT_THAT(Of("xid-listed"), SizeIs(1));
}

TEST_F(Monitored, ASilenceMadeByHandIsNamedAndItsAlertIsNotHeard) {
  Watch();
  Take("before");
  monitoring_->Silence("GpuXid");
  GpuState({"set", state_, "--gpu", "0", "xid=79"});
  ASSERT_TRUE(Eventually(seconds(60), [&] {
    const auto alerts = monitoring_->Get(monitoring_->alertmanager_url(), "/api/v2/alerts");
    return alerts.ok() && absl::StrContains(*alerts, "\"suppressed\"");
  }));
  ASSERT_TRUE(Eventually(seconds(60), [&] { return !Of("xid-scraped").empty(); }));
  Take("after");
  EXPECT_THAT(Of("xid-fired"), IsEmpty());
  EXPECT_THAT(Of("xid-listed"), IsEmpty());
  const MonitoringFacts facts = MeasureMonitoring(timeline_);
  ASSERT_THAT(facts.changes, SizeIs(1));
  EXPECT_THAT(facts.changes[0], HasSubstr("silence "));
  EXPECT_THAT(facts.changes[0], HasSubstr(" was added"));
}

TEST_F(Monitored, AChangedRuleIsNamedOnceItIsLoaded) {
  Watch();
  Take("before");
  std::string rules = Slurp(monitoring_->rules());
  const size_t at = rules.find("changes(DCGM_FI_DEV_XID_ERRORS[1m]) > 0");
  ASSERT_NE(at, std::string::npos);
  rules.replace(at, std::string("changes(DCGM_FI_DEV_XID_ERRORS[1m]) > 0").size(), "vector(0)");
  std::ofstream(monitoring_->rules()) << rules;
  monitoring_->prometheus().Signal(SIGHUP);
  ASSERT_TRUE(Eventually(seconds(60), [&] {
    const auto loaded = monitoring_->Get(monitoring_->prometheus_url(), "/api/v1/rules");
    return loaded.ok() && absl::StrContains(*loaded, "vector(0)");
  }));
  Take("after");
  const MonitoringFacts facts = MeasureMonitoring(timeline_);
  ASSERT_THAT(facts.changes, SizeIs(1));
  EXPECT_THAT(facts.changes[0], HasSubstr("/triodrill-gpu/GpuXid (1) was changed"));
}

TEST_F(Monitored, WhatIsDownIsAGapAndBackAgain) {
  Watch();
  monitoring_->prometheus().Signal(SIGKILL);
  ASSERT_TRUE(monitoring_->prometheus().Wait(seconds(60)).has_value());
  ASSERT_TRUE(Eventually(seconds(60), [&] { return Gaps() > 0; }));
  EXPECT_THAT(watch_->Problems(), ::testing::Not(IsEmpty()));
  EXPECT_FALSE(watch_->Fingerprint().ok());
  monitoring_->StartPrometheus();
  EXPECT_TRUE(Eventually(seconds(60), [&] { return watch_->Problems().empty(); })) << monitoring_->prometheus().Err();
}

}  // namespace
}  // namespace triodrill
