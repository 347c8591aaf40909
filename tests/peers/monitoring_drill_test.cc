// A whole drill whose detection is the distribution's Prometheus and Alertmanager: a lost GPU of the embedded partition
// is found by its XID, through exporter, scrape, rule and webhook. And a person who silences an alert meanwhile.
#include <gmock/gmock.h>

#include "absl/strings/str_replace.h"
#include "tests/e2e/partition.h"
#include "tests/peers/monitoring_rig.h"

namespace triodrill {
namespace {

using std::chrono::seconds;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using testing::RealMonitoring;
using testing::Slurp;
using Json = nlohmann::json;

constexpr seconds kLong{280};

class MonitoredDrill : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::WhyNoMonitoring(); !why.empty()) GTEST_SKIP() << why;
    before_ = LookAtHost(partition_.state_dir());
    monitoring_ = std::make_unique<RealMonitoring>();
    WriteProfile();
    const auto up = partition_.Start(
        {"shadow", "up", "--partition", "reference", "--pipeline", profile(), "--state-dir", partition_.state_dir()});
    ASSERT_EQ(up->Wait(kLong), 0) << up->Err();
    // The nodes' own exporters listen inside of their nodes.
    for (const char* const node : {"n0", "n1", "n2", "n3", "s0", "s1"}) {
      monitoring_->Export(absl::StrCat(partition_.state_dir(), "/run/gpu-", node, ".state"), node);
    }
    monitoring_->Start();
    ASSERT_TRUE(monitoring_->Watches(6)) << monitoring_->prometheus().Err();
  }
  void TearDown() override {
    if (monitoring_ == nullptr) return;
    monitoring_.reset();  // its exporters read what the partition takes along
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }));
  }

  // The one that is shipped, with this test's addresses.
  void WriteProfile() {
    std::ofstream(profile()) << absl::StrReplaceAll(
        Slurp(TRIODRILL_SOURCE_DIR "/drills/pipelines/prometheus-alertmanager.yaml"),
        {{"http://127.0.0.1:9090", monitoring_->prometheus_url()},
         {"http://127.0.0.1:9093", monitoring_->alertmanager_url()},
         {"webhook: 127.0.0.1:9099", "webhook: " + monitoring_->webhook()}});
  }
  std::string profile() const { return partition_.Path("prometheus-alertmanager.yaml"); }

  std::unique_ptr<testing::Program> Run() {
    return partition_.StartRun("hardware/lost-gpu.yaml",
                               {"--partition", "reference", "--sham", "0", "--json", "--out", partition_.Path("b")},
                               profile());
  }
  Json Objective(const Json& result, const std::string& name) const {
    for (const Json& objective : result.at("verdict").at("objectives")) {
      if (objective.at("name") == name) return objective;
    }
    ADD_FAILURE() << "no objective " << name << " in " << result.dump();
    return Json{{"answer", ""}, {"reason", ""}};
  }

  Partition partition_;
  std::unique_ptr<RealMonitoring> monitoring_;
  HostState before_;
};

TEST_F(MonitoredDrill, IsDetectedByTheWebhookAndLeavesTheMonitoringAsItWas) {
  const auto run = Run();
  const int code = run->Wait(kLong).value_or(-1);
  const std::string report = Slurp(partition_.Path("b/report.md"));
  ASSERT_TRUE(code == 0 || code == 2) << code << "\n" << run->Err() << report;
  const Json result = Json::parse(run->Out());
  for (const char* const name : {"detection_latency", "monitoring_unchanged", "monitoring_answered"}) {
    EXPECT_EQ(Objective(result, name).at("answer"), "PASS") << Objective(result, name).dump();
  }
  const Json trio = Json::parse(Slurp(partition_.Path("b/trio.json")));
  const Json& detection = trio.at("trials").at(0).at("detection_latency");
  std::cout << detection.dump() << "\n";
  EXPECT_THAT(detection.at("source").get<std::string>(), HasSubstr("alertmanager webhook, evaluated "));
  EXPECT_EQ(detection.at("named"), "faulted");
  // It holds at least the webhook's way, and is no shorter than it is said to be.
  EXPECT_GT(detection.at("max_s").get<double>(), detection.at("min_s").get<double>());
}

TEST_F(MonitoredDrill, FailsWhenSomebodySilencesAnAlertMeanwhile) {
  const auto run = Run();
  ASSERT_TRUE(Eventually(kLong, [&] {
    return absl::StrContains(Slurp(partition_.Path("b/timeline.jsonl")), "\"baseline\"") || !run->Running();
  }));
  monitoring_->Silence("GpuXid");
  EXPECT_EQ(run->Wait(kLong), 1) << run->Err();
  const Json unchanged = Objective(Json::parse(run->Out()), "monitoring_unchanged");
  EXPECT_EQ(unchanged.at("answer"), "FAIL");
  EXPECT_THAT(unchanged.at("reason").get<std::string>(), HasSubstr("was added"));
}

TEST_F(MonitoredDrill, IsRefusedWhenTheMonitoringDoesNotAnswer) {
  monitoring_->prometheus().Signal(SIGKILL);
  ASSERT_TRUE(monitoring_->prometheus().Wait(seconds(60)).has_value());
  const auto run = Run();
  EXPECT_EQ(run->Wait(kLong), 3) << run->Err();
  EXPECT_THAT(run->Err(), HasSubstr("the monitoring cannot be watched"));
}

}  // namespace
}  // namespace triodrill
