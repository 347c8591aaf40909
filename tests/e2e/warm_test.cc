// A warm spare in the real partition: it takes a killed rank's place at the step where the job stood, is then known as
// that rank, and a pipeline whose policy asks for none has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using testing::CountLines;
using testing::Eventually;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using testing::Slurp;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLong{240};
constexpr char kDrill[] = "software/warm-takeover.yaml";

class WarmTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = LookAtHost(partition_.state_dir()); }
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }))
        << ::testing::PrintToString(LookAtHost(partition_.state_dir()).programs);
  }
  int Logged(const std::string& text) const { return CountLines(partition_.state_dir() + "/run/pipeline.log", text); }

  Partition partition_;
  HostState before_;
};

TEST_F(WarmTest, TakesOverWithoutALostStepTrialAfterTrial) {
  const auto run = partition_.StartRun(
      kDrill, {"--partition", "reference", "--trials", "2", "--sham", "1", "--json", "--out", partition_.Path("b")},
      "reference-warm");
  const std::optional<int> code = run->Wait(kLong);
  const std::string report = Slurp(partition_.Path("b/report.md"));
  ASSERT_EQ(code, 0) << run->Err() << report;
  EXPECT_EQ(Json::parse(run->Out()).at("verdict").at("verdict"), "PASS") << report;
  // Its node's agent knows the standby as a rank, and only from its take-over on.
  const std::string timeline = Slurp(partition_.Path("b/timeline.jsonl"));
  const size_t appeared = timeline.find(R"("process":{"node":"s0","slot":"s0/0")");
  ASSERT_NE(appeared, std::string::npos);
  EXPECT_GT(appeared, timeline.find(R"("landed":{)"));
  EXPECT_EQ(Logged(" by=standby"), 2);
  EXPECT_EQ(Logged(" isolated "), 2);
  EXPECT_EQ(Logged(" restore_ordered source=peers "), 2);
  EXPECT_EQ(Logged(" restore_ordered source=checkpoint "), 0);
  EXPECT_EQ(Logged(" detected "), 2) << "a standby's life is nobody's fault";
}

TEST_F(WarmTest, IsNothingThatTheDefaultPolicyKnows) {
  const auto run = partition_.StartRun(
      kDrill, {"--partition", "reference", "--trials", "1", "--sham", "0", "--json", "--out", partition_.Path("b")},
      "reference");
  const std::optional<int> code = run->Wait(kLong);
  const std::string report = Slurp(partition_.Path("b/report.md"));
  ASSERT_EQ(code, 1) << run->Err() << report;
  std::map<std::string, std::string> answers;
  const Json result = Json::parse(run->Out());
  for (const Json& objective : result.at("verdict").at("objectives")) {
    answers[objective.at("name")] = objective.at("answer");
  }
  EXPECT_EQ(answers["steps_lost"], "FAIL") << report;
  EXPECT_EQ(answers["state_check"], "PASS") << report;
  EXPECT_EQ(Logged(" standby "), 0);
  EXPECT_EQ(Logged(" isolated "), 0) << "restarted in place";
  EXPECT_EQ(Logged(" restore_ordered source=checkpoint "), 1);
}

}  // namespace
}  // namespace triodrill
