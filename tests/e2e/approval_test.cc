// A fault of tier `confirm` on the embedded partition, where approvals are wanted: refused without, fired with, and no
// other plan's approval passes for this one's.
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
using testing::Slurp;

constexpr std::chrono::seconds kLong{240};

constexpr char kDrill[] = R"(apiVersion: triodrill/v1
kind: Drill
metadata: {name: lost-for-a-moment, category: hardware, severity: P1, question: "Is a lost node seen?"}
spec:
  faults:
    - id: lost
      inject: node.lost
      target: {role: rank, pick: 1}
      start: {after: baseline}
      hold: {for: 2s}
  expect:
    detection_latency: {max: 20s}
  trials: {faulted: 1, seed: 42}
  deadline: {detection: 20s, recovery: 40s}
)";

class ApprovalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = LookAtHost(partition_.state_dir());
    std::string partition = Slurp(TRIODRILL_SOURCE_DIR "/drills/partitions/embedded.yaml");
    const size_t at = partition.find("  waive_approvals:");
    ASSERT_NE(at, std::string::npos);
    partition.replace(at, partition.find('\n', at) + 1 - at,
                      "  approvals: 2\n  approvers:\n" + Entry("ana") + Entry("ben"));
    std::ofstream(partition_.Path("partition.yaml")) << partition;
    std::ofstream(partition_.Path("drill.yaml")) << kDrill;
  }

  // After every test, also a failed one.
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }));
  }

  std::string Entry(const std::string& name) {
    const auto keygen = partition_.Start({"keygen", "--out", partition_.Path(name)});
    EXPECT_EQ(keygen->Wait(kLong), 0) << keygen->Err();
    const std::string out = keygen->Out();
    const std::string before = "{name: NAME, key: ";
    const size_t key = out.find(before) + before.size();
    return "    - {name: " + name + ", key: " + out.substr(key, out.find('}', key) - key) + "}\n";
  }
  std::vector<std::string> Inputs(const std::string& verb) {
    return {verb,          partition_.Path("drill.yaml"),    "--pipeline", "torchrun",
            "--partition", partition_.Path("partition.yaml")};
  }
  void Approve(const std::string& seed) {
    std::vector<std::string> plan = Inputs("plan");
    for (const std::string& one : {std::string("--seed"), seed, std::string("--out"), partition_.Path("plan.json")}) {
      plan.push_back(one);
    }
    ASSERT_EQ(partition_.Start(plan)->Wait(kLong), 0);
    for (const std::string name : {"ana", "ben"}) {
      const auto approve =
          partition_.Start({"approve", partition_.Path("plan.json"), "--key", partition_.Path(name + "/signing.key"),
                            "--as", name, "--out", partition_.Path(name + ".approval"), "--yes"});
      ASSERT_EQ(approve->Wait(kLong), 0) << approve->Err();
    }
  }
  std::unique_ptr<testing::Program> Run(const std::vector<std::string>& persons) {
    std::vector<std::string> run = Inputs("run");
    for (const std::string& one : {std::string("--state-dir"), partition_.state_dir(), std::string("--out"),
                                   partition_.Path("b"), std::string("--sign"), partition_.Path("ana/signing.key")}) {
      run.push_back(one);
    }
    for (const std::string& person : persons) {
      run.emplace_back("--approval");
      run.push_back(partition_.Path(person + ".approval"));
    }
    return partition_.Start(run);
  }
  void IsRefused(const std::vector<std::string>& persons, const std::string& why) {
    const auto run = Run(persons);
    EXPECT_EQ(run->Wait(kLong), 3) << run->Err();
    EXPECT_THAT(run->Err(), HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(partition_.state_dir())) << "a sandbox was begun";
    EXPECT_FALSE(std::filesystem::exists(partition_.Path("b"))) << "a run that was refused left a bundle";
  }

  Partition partition_;
  HostState before_;
};

TEST_F(ApprovalTest, IsWantedOfTwoPersonsForThisVeryPlanAndStandsInTheEvidence) {
  IsRefused({}, "approved by 0 of 2 persons");
  Approve("7");
  IsRefused({"ana", "ben"}, "it is of another plan");
  Approve("42");
  IsRefused({"ana"}, "approved by 1 of 2 persons");

  const auto run = Run({"ana", "ben"});
  const std::optional<int> code = run->Wait(kLong);
  ASSERT_TRUE(code == 0 || code == 1 || code == 2) << run->Err();
  const std::string timeline = partition_.Path("b") + "/timeline.jsonl";
  EXPECT_EQ(CountLines(timeline, "\"landed\":{"), 1) << run->Err();
  EXPECT_EQ(CountLines(timeline, "\"approval\":{"), 2);
  EXPECT_THAT(run->Out(), HasSubstr("who approved it"));
  EXPECT_THAT(Slurp(partition_.Path("b") + "/report.md"), HasSubstr("approved by"));
  EXPECT_THAT(Slurp(partition_.state_dir() + "/nodes/n0/policy.yaml"), HasSubstr("approvals: 2"));

  const auto verify = partition_.Start({"verify", partition_.Path("b"), "--key", partition_.Path("ana/signing.pub")});
  EXPECT_EQ(verify->Wait(kLong), 0) << verify->Out() << verify->Err();
  EXPECT_THAT(verify->Out(), HasSubstr("approvals"));
  EXPECT_THAT(verify->Out(), HasSubstr("of this plan, at the run's time, by ana"));
}

}  // namespace
}  // namespace triodrill
