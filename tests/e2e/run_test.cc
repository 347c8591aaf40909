// The whole line on the embedded partition: the real sandbox, the real torchrun, the real faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using testing::CountLines;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLong{240};

const Json& FaultedTrial(const Json& result) {
  const Json& trials = result.at("trio").at("trials");
  return trials.at(0).at("sham").get<bool>() ? trials.at(1) : trials.at(0);
}

class RunTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = LookAtHost(partition_.state_dir()); }

  // After every test, also a failed one.
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }))
        << ::testing::PrintToString(LookAtHost(partition_.state_dir()).programs)
        << ::testing::PrintToString(LookAtHost(partition_.state_dir()).cgroups);
  }

  std::string Timeline(const std::string& bundle) const { return partition_.Path(bundle) + "/timeline.jsonl"; }
  bool Landed(const std::string& bundle) const { return CountLines(Timeline(bundle), "\"landed\":{") > 0; }

  // Worker processes of the sandbox that are stopped.
  int StoppedWorkers() const {
    int stopped = 0;
    for (const std::string& program : testing::ProgramsOf(partition_.state_dir())) {
      const std::string pid = program.substr(0, program.find(' '));
      const std::string stat = testing::Slurp("/proc/" + pid + "/stat");
      const size_t end = stat.rfind(") ");
      if (end != std::string::npos && stat[end + 2] == 'T') ++stopped;
    }
    return stopped;
  }

  Partition partition_;
  HostState before_;
};

TEST_F(RunTest, KillingARankCostsTheJobARestartAndIsMeasuredInIntervals) {
  ASSERT_EQ(partition_.Start({"keygen", "--out", partition_.Path("keys")})->Wait(kLong), 0);
  const auto run = partition_.StartRun(
      "software/kill-one-rank.yaml", {"--trials", "1", "--sham", "1", "--json", "--out", partition_.Path("b"), "--sign",
                                      partition_.Path("keys/signing.key")});
  const std::optional<int> code = run->Wait(kLong);
  ASSERT_TRUE(code.has_value());
  SCOPED_TRACE(run->Err());
  const Json result = Json::parse(run->Out(), nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << run->Out();
  const Json& trial = FaultedTrial(result);
  EXPECT_TRUE(trial.at("valid").get<bool>()) << trial.dump(2);
  EXPECT_FALSE(trial.at("detection_latency").at("censored").get<bool>()) << trial.at("detection_latency").dump(2);
  EXPECT_EQ(trial.at("interruption").at("level"), "job");
  EXPECT_EQ(trial.at("interruption").at("interrupted").size(), 3u);
  EXPECT_EQ(trial.at("isolation").at("level"), "none");
  EXPECT_TRUE(trial.at("isolation").at("evicted").empty());
  EXPECT_FALSE(trial.at("recovery_time").at("censored").get<bool>()) << trial.at("recovery_time").dump(2);
  EXPECT_LE(trial.at("recovery_time").at("min_s").get<double>(), trial.at("recovery_time").at("max_s").get<double>());
  const int64_t width =
      trial.at("landed").at("latest_ns").get<int64_t>() - trial.at("landed").at("earliest_ns").get<int64_t>();
  EXPECT_GT(width, 0);
  std::printf("onset known to %.3f ms\n", static_cast<double>(width) / 1e6);
  EXPECT_EQ(result.at("verdict").at("verdict"), code == 0 ? "PASS" : "FAIL");
  EXPECT_EQ(code, 0);

  const auto judge = partition_.Start({"judge", partition_.Path("b")});
  EXPECT_EQ(judge->Wait(kLong), code);
  EXPECT_THAT(judge->Err(), HasSubstr("equal to the byte"));

  const auto verify = partition_.Start({"verify", partition_.Path("b"), "--key", partition_.Path("keys/signing.pub")});
  EXPECT_EQ(verify->Wait(kLong), 0) << verify->Out() << verify->Err();
  std::ofstream(partition_.Path("b") + "/raw/added.log") << "x";
  const auto again = partition_.Start({"verify", partition_.Path("b"), "--key", partition_.Path("keys/signing.pub")});
  EXPECT_EQ(again->Wait(kLong), 1) << again->Out();
}

TEST_F(RunTest, APausedRankIsNeverNoticedAndTheDrillSaysSo) {
  const auto run = partition_.StartRun("software/pause-one-rank.yaml",
                                       {"--trials", "1", "--sham", "0", "--json", "--out", partition_.Path("b")});
  EXPECT_EQ(run->Wait(kLong), 1) << run->Err();
  const Json result = Json::parse(run->Out(), nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << run->Err();
  const Json& trial = result.at("trio").at("trials").at(0);
  EXPECT_TRUE(trial.at("detection_latency").at("censored").get<bool>());
  EXPECT_TRUE(trial.at("recovery_time").at("censored").get<bool>());
  EXPECT_EQ(trial.at("undo"), "confirmed");
}

TEST_F(RunTest, ASecondRunOnThePartitionIsRefused) {
  const auto first = partition_.StartRun("control/no-fault.yaml", {"--out", partition_.Path("b1")});
  ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] { return CountLines(Timeline("b1"), "\"progress\":{") > 0; }))
      << first->Err();
  const auto second = partition_.StartRun("control/no-fault.yaml", {"--out", partition_.Path("b2")});
  EXPECT_EQ(second->Wait(kLong), 3) << second->Err();
  EXPECT_THAT(second->Err(), HasSubstr("another run has this partition"));
  EXPECT_FALSE(std::filesystem::exists(partition_.Path("b2"))) << "a run that was refused left a bundle";
  const auto abort = partition_.Start({"abort", "--pipeline", "torchrun", "--state-dir", partition_.state_dir()});
  EXPECT_EQ(abort->Wait(kLong), 0) << abort->Err();
  EXPECT_EQ(first->Wait(kLong), 4) << first->Err();
}

TEST_F(RunTest, CtrlCInTheMiddleOfAHoldUndoesEverything) {
  const auto run = partition_.StartRun("software/pause-one-rank.yaml",
                                       {"--trials", "1", "--sham", "0", "--out", partition_.Path("b")});
  ASSERT_TRUE(Eventually(std::chrono::seconds(90), [&] { return Landed("b"); })) << run->Err();
  EXPECT_EQ(StoppedWorkers(), 1);
  run->Signal(SIGINT);
  EXPECT_EQ(run->Wait(kLong), 4) << run->Err();
  EXPECT_THAT(testing::Slurp(Timeline("b")), HasSubstr("\"outcome\":\"aborted\""));
}

TEST_F(RunTest, ACoordinatorKilledInTheMiddleOfAHoldLeavesEveryNodeWholeWithinTheLease) {
  const auto up = partition_.Start({"shadow", "up", "--pipeline", "torchrun", "--state-dir", partition_.state_dir()});
  ASSERT_EQ(up->Wait(kLong), 0) << up->Err();
  auto run = partition_.StartRun("software/pause-one-rank.yaml",
                                 {"--trials", "1", "--sham", "0", "--out", partition_.Path("b")});
  ASSERT_TRUE(Eventually(std::chrono::seconds(90), [&] { return Landed("b"); })) << run->Err();
  ASSERT_EQ(StoppedWorkers(), 1);
  run->Signal(SIGKILL);
  ASSERT_EQ(run->Wait(kLong), 128 + SIGKILL);
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return StoppedWorkers() == 0; }));
  const auto recover = partition_.Start({"recover", "--pipeline", "torchrun", "--state-dir", partition_.state_dir()});
  EXPECT_EQ(recover->Wait(kLong), 0) << recover->Err();
  const auto judge = partition_.Start({"judge", partition_.Path("b")});
  EXPECT_NE(judge->Wait(kLong), 0);  // incomplete: never a pass
  EXPECT_THAT(judge->Err(), HasSubstr("incomplete"));
}

TEST_F(RunTest, AnAgentKilledInTheMiddleOfAHoldLeavesTheNodeWhole) {
  const auto run = partition_.StartRun("software/pause-one-rank.yaml",
                                       {"--trials", "1", "--sham", "0", "--out", partition_.Path("b")});
  ASSERT_TRUE(Eventually(std::chrono::seconds(90), [&] { return Landed("b"); })) << run->Err();
  ASSERT_EQ(StoppedWorkers(), 1);
  int killed = 0;
  for (const std::string& program : testing::ProgramsOf(partition_.state_dir())) {
    if (!absl::StrContains(program, "triodrilld")) continue;
    ++killed;
    kill(std::stoi(program.substr(0, program.find(' '))), SIGKILL);
  }
  EXPECT_EQ(killed, 3);
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return StoppedWorkers() == 0; }));
  const std::optional<int> code = run->Wait(kLong);
  EXPECT_EQ(code, 2) << run->Err();  // inconclusive: the trial lost its ground, and nothing is left
}

TEST_F(RunTest, EvidenceThatCannotBeKeptIsFoundBeforeAnythingIsTouched) {
  const auto run = partition_.StartRun("software/kill-one-rank.yaml", {"--out", "/proc/nowhere"});
  EXPECT_EQ(run->Wait(kLong), 3) << run->Err();
  EXPECT_THAT(run->Err(), HasSubstr("nothing was touched"));
  EXPECT_TRUE(testing::ProgramsOf(partition_.state_dir()).empty());
  EXPECT_FALSE(std::filesystem::exists(partition_.state_dir() + "/shadow.sock"));
}

}  // namespace
}  // namespace triodrill
