// Faults of shadow GPUs, whole: the drill passes, the pipeline takes the GPU and no more out of service, keeps it out
// for as long as it is sick, and takes it back once the undo is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using testing::Eventually;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using testing::Slurp;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLong{280};

struct Case {
  const char* drill;
  const char* kept_out_for;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.drill; }

class GpuDrill : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { before_ = LookAtHost(partition_.state_dir()); }
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(kLong), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }));
  }
  // Numbers of the lines that hold both.
  std::vector<size_t> LinesWith(const std::string& one, const std::string& other) const {
    std::vector<size_t> found;
    size_t number = 0;
    for (const auto line : absl::StrSplit(Slurp(partition_.state_dir() + "/run/pipeline.log"), '\n')) {
      ++number;
      if (absl::StrContains(line, one) && absl::StrContains(line, other)) found.push_back(number);
    }
    return found;
  }

  Partition partition_;
  HostState before_;
};

TEST_P(GpuDrill, PassesAndTheGpuIsKeptOutWhileItIsSick) {
  const auto run = partition_.StartRun(
      GetParam().drill, {"--partition", "reference", "--sham", "0", "--json", "--out", partition_.Path("b")},
      "reference");
  const int code = run->Wait(kLong).value_or(-1);
  const std::string report = Slurp(partition_.Path("b/report.md"));
  ASSERT_TRUE(code == 0 || code == 2) << code << "\n" << run->Err() << report;
  const Json result = Json::parse(run->Out());
  for (const Json& objective : result.at("verdict").at("objectives")) {
    // Without a sham trial nobody was asked for false alarms.
    EXPECT_TRUE(objective.at("answer") == "PASS" || objective.at("name") == "false_alarms") << objective.dump();
  }
  EXPECT_TRUE(absl::StrContains(report, "simulated accelerator")) << report;
  const Json trio = Json::parse(Slurp(partition_.Path("b/trio.json")));
  const Json& isolation = trio.at("trials").at(0).at("isolation");
  ASSERT_EQ(isolation.at("level"), "gpu") << isolation.dump();
  const std::string slot = "slot=" + isolation.at("evicted").at(0).get<std::string>() + " ";
  const std::vector<size_t> kept = LinesWith(" kept_out " + slot, GetParam().kept_out_for);
  const std::vector<size_t> back = LinesWith(" returned ", slot.substr(0, slot.size() - 1));
  const std::string log = Slurp(partition_.state_dir() + "/run/pipeline.log");
  ASSERT_FALSE(kept.empty()) << log;
  ASSERT_EQ(back.size(), 1U) << log;
  EXPECT_GT(back.front(), kept.back()) << log;
  EXPECT_EQ(LinesWith("restart in place", "").size(), 0U) << "none of those that cannot help\n" << log;
}

const Case kCases[] = {{"hardware/throttled-gpu.yaml", "SM clock"}, {"hardware/lost-gpu.yaml", "fallen off the bus"}};
std::string NameOf(const ::testing::TestParamInfo<Case>& one) {
  return absl::StrContains(one.param.drill, "lost") ? "lost" : "throttled";
}
INSTANTIATE_TEST_SUITE_P(Of, GpuDrill, ::testing::ValuesIn(kCases), NameOf);

}  // namespace
}  // namespace triodrill
