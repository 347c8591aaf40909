// The matrix: the healthy reference pipeline fails none of its drills and raises nothing when nothing is broken, and
// each planted defect fails the drill that is there for it, on the objective that it breaks. A case that ends otherwise
// prints what the drill said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using testing::Eventually;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using testing::Slurp;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLong{240};

struct Case {
  const char* defect;  // "" = healthy
  const char* drill;
  std::vector<std::string> objectives;  // one of them at least must fail
};

std::string NameOf(const Case& one) {
  const std::string drill = absl::StrReplaceAll(one.drill, {{"/", "_"}, {"-", "_"}, {".yaml", ""}});
  return *one.defect == '\0' ? "healthy_" + drill : std::string(one.defect);
}

void PrintTo(const Case& one, std::ostream* out) { *out << NameOf(one); }

class Matrix : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { before_ = LookAtHost(partition_.state_dir()); }
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }))
        << ::testing::PrintToString(LookAtHost(partition_.state_dir()).programs);
  }

  // The pipeline's profile, with the defect planted by the launcher's environment.
  std::string Profile(const std::string& defect) const {
    std::string healthy = TRIODRILL_SOURCE_DIR "/drills/pipelines/reference.yaml";
    if (defect.empty()) return healthy;
    const std::string planted = absl::StrReplaceAll(
        Slurp(healthy),
        {{"    rank_process:\n", "    env: [TRIODRILL_SHADOW_DEFECT=" + defect + "]\n    rank_process:\n"}});
    EXPECT_TRUE(absl::StrContains(planted, defect));
    std::ofstream(partition_.Path("defective.yaml")) << planted;
    return partition_.Path("defective.yaml");
  }

  // Where the job does not come back in time, or at all, the objective is missed long before the library's deadline,
  // which is there to learn how late it is. Above the objective it stays.
  std::string Drill(const Case& one) const {
    std::string file = TRIODRILL_SOURCE_DIR "/drills/library/" + std::string(one.drill);
    if (one.defect != std::string("spare_race") && one.defect != std::string("slow_restore")) return file;
    const std::string sooner = absl::StrReplaceAll(Slurp(file), {{"recovery: 60s}", "recovery: 20s}"}});
    EXPECT_TRUE(absl::StrContains(sooner, "recovery: 20s}"));
    std::ofstream(partition_.Path("sooner.yaml")) << sooner;
    return partition_.Path("sooner.yaml");
  }

  Partition partition_;
  HostState before_;
};

// "FAIL isolation.recall; FAIL detection_latency": what did not pass, for the table.
std::string NotPassed(const Json& verdict) {
  std::vector<std::string> words;
  for (const Json& objective : verdict.at("objectives")) {
    const std::string answer = objective.at("answer");
    if (answer != "PASS") words.push_back(answer + " " + objective.at("name").get<std::string>());
  }
  return absl::StrJoin(words, "; ");
}

TEST_P(Matrix, FailsExactlyWhereItShould) {
  const Case& one = GetParam();
  const bool healthy = *one.defect == '\0';
  std::vector<std::string> arguments = {"--partition", "reference", "--json", "--out", partition_.Path("b")};
  if (one.drill != std::string("control/no-fault.yaml")) arguments.insert(arguments.end(), {"--sham", "0"});
  const auto run = partition_.StartRun(Drill(one), std::move(arguments), Profile(one.defect));
  const int code = run->Wait(kLong).value_or(-1);
  ASSERT_TRUE(code == 0 || code == 1 || code == 2) << code << "\n" << run->Err();
  const Json result = Json::parse(run->Out());
  const Json& verdict = result.at("verdict");
  const std::string report = Slurp(partition_.Path("b/report.md"));
  std::printf("%-22s %-32s %-12s %s\n", healthy ? "(healthy)" : one.defect, one.drill,
              verdict.at("verdict").get<std::string>().c_str(), NotPassed(verdict).c_str());
  if (!testing::kTimesAreItsOwn) GTEST_SKIP() << "instrumented: the verdict is printed above, and not asserted";
  if (healthy) {
    // Without a sham trial nobody was asked for false alarms; control/no-fault asks.
    const std::string missing = NotPassed(verdict);
    EXPECT_TRUE(missing.empty() || missing == "INCONCLUSIVE false_alarms") << report;
    return;
  }
  EXPECT_EQ(code, 1) << report;
  std::set<std::string> failed;
  for (const Json& objective : verdict.at("objectives")) {
    if (objective.at("answer") == "FAIL") failed.insert(objective.at("name"));
  }
  bool right = false;
  for (const std::string& objective : one.objectives) right = right || failed.contains(objective);
  EXPECT_TRUE(right) << "none of " << absl::StrJoin(one.objectives, ", ") << " failed\n" << report;
  const std::string blockers = verdict.at("blockers").dump();
  EXPECT_TRUE(absl::StrContains(blockers, one.objectives.front()) || !failed.contains(one.objectives.front()));
}

const Case kHealthy[] = {
    {"", "software/kill-in-place.yaml", {}},    {"", "software/hung-rank.yaml", {}},
    {"", "software/hiccup.yaml", {}},           {"", "software/crash-loop.yaml", {}},
    {"", "network/link-lost.yaml", {}},         {"", "network/link-flap.yaml", {}},
    {"", "hardware/slow-rank.yaml", {}},        {"", "hardware/drift.yaml", {}},
    {"", "data/flip-after-allreduce.yaml", {}}, {"", "data/flip-before-allreduce.yaml", {}},
    {"", "data/corrupt-checkpoint.yaml", {}},   {"", "control/no-fault.yaml", {}},
    {"", "network/partition.yaml", {}},         {"", "software/launcher-exit.yaml", {}},
    {"", "software/out-of-memory.yaml", {}},    {"", "data/torn-checkpoint.yaml", {}},
    {"", "hardware/hung-gpu.yaml", {}},         {"", "hardware/node-lost.yaml", {}},
    {"", "hardware/xid-79.yaml", {}},
};
const Case kDefective[] = {
    {"single_signal", "software/hiccup.yaml", {"isolation.at_most", "reports"}},
    {"deaf_heartbeat", "software/hung-rank.yaml", {"detection_latency", "recovery_time"}},
    {"silent_hang", "network/link-lost.yaml", {"detection_latency"}},
    {"global_restart", "software/kill-in-place.yaml", {"restarts.at_most"}},
    {"wrong_node", "software/hung-rank.yaml", {"isolation.precision", "isolation.recall"}},
    {"over_evict", "software/hung-rank.yaml", {"isolation.at_most"}},
    {"same_node_again", "software/hung-rank.yaml", {"isolation.recall"}},
    {"spare_race", "software/hung-rank.yaml", {"recovery_time"}},
    {"stale_latest", "software/kill-in-place.yaml", {"steps_lost"}},
    {"unverified_checkpoint", "data/corrupt-checkpoint.yaml", {"state_check"}},
    {"no_bounds", "software/crash-loop.yaml", {"isolation.recall", "recovery_time"}},
    {"restart_from_zero", "software/kill-in-place.yaml", {"steps_lost"}},
    {"slow_restore", "software/kill-in-place.yaml", {"recovery_time"}},
    {"sdc_blind", "data/flip-after-allreduce.yaml", {"detection_latency"}},
    {"drift_alarm", "hardware/drift.yaml", {"reports"}},
    {"replay_stale_event", "software/kill-in-place.yaml", {"isolation.at_most"}},
};

std::string CaseName(const ::testing::TestParamInfo<Case>& info) { return NameOf(info.param); }
INSTANTIATE_TEST_SUITE_P(Healthy, Matrix, ::testing::ValuesIn(kHealthy), CaseName);
INSTANTIATE_TEST_SUITE_P(Defect, Matrix, ::testing::ValuesIn(kDefective), CaseName);

}  // namespace
}  // namespace triodrill
