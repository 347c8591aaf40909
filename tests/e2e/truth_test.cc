// What was measured against what the reference pipeline itself knows: it writes down when it decided each thing, and by
// when it had said so (its truth channel), which the measuring never reads. Everything that a run observed must have
// been observed to happen within an interval that meets the true one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using testing::Eventually;
using testing::HostState;
using testing::LookAtHost;
using testing::Partition;
using testing::Slurp;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLong{3600};

std::vector<Json> Lines(const std::string& path) {
  std::vector<Json> lines;
  for (const auto line : absl::StrSplit(Slurp(path), '\n', absl::SkipEmpty())) lines.push_back(Json::parse(line));
  return lines;
}

int64_t Number(const Json& json, const char* name) {
  if (!json.contains(name)) return 0;
  const Json& value = json.at(name);  // 64-bit numbers are strings in protobuf's JSON
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<int64_t>();
}

struct Observed {
  int64_t earliest_ns, latest_ns;  // CLOCK_MONOTONIC
};

const Json& FactOf(const Json& line) { return line.contains("fact") ? line.at("fact") : line; }

class Truth : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { before_ = LookAtHost(partition_.state_dir()); }
  void TearDown() override {
    const auto down = partition_.Start({"shadow", "down", "--state-dir", partition_.state_dir()});
    EXPECT_EQ(down->Wait(std::chrono::seconds(60)), 0) << down->Err();
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return LookAtHost(partition_.state_dir()) == before_; }));
  }
  static std::string TrialsAsked() {
    const char* const asked = std::getenv("TRIODRILL_TRUTH_TRIALS");
    return asked == nullptr ? "2" : asked;
  }
  // When trials were open: what the pipeline does between them is nobody's observation.
  std::vector<Observed> Trials(const std::vector<Json>& timeline) const {
    std::vector<Observed> open;
    int64_t epoch = 0;
    for (const Json& line : timeline) {
      const Json& fact = FactOf(line);
      if (fact.contains("run_started")) epoch = Number(fact.at("run_started"), "monotonic_ns");
      if (fact.contains("trial_started")) open.push_back({epoch + Number(fact.at("at"), "latest_ns"), 0});
      if (fact.contains("trial_ended")) open.back().latest_ns = epoch + Number(fact.at("at"), "earliest_ns");
    }
    return open;
  }
  // The run's observations of one signal, in order.
  std::vector<Observed> Seen(const std::vector<Json>& timeline, const std::string& means) const {
    std::vector<Observed> seen;
    int64_t epoch = 0;
    for (const Json& line : timeline) {
      const Json& fact = FactOf(line);
      if (fact.contains("run_started")) epoch = Number(fact.at("run_started"), "monotonic_ns");
      if (!fact.contains("signal") || fact.at("signal").at("means") != means) continue;
      if (!absl::StrContains(fact.at("signal").at("source").get<std::string>(), "pipeline.log")) continue;
      seen.push_back({epoch + Number(fact.at("at"), "earliest_ns"), epoch + Number(fact.at("at"), "latest_ns")});
    }
    return seen;
  }
  Partition partition_;
  HostState before_;
};

TEST_P(Truth, LiesWithinEveryReportedInterval) {
  const auto run = partition_.StartRun(
      GetParam(), {"--trials", TrialsAsked(), "--sham", "0", "--json", "--out", partition_.Path("b")}, "reference");
  const std::optional<int> code = run->Wait(kLong);
  // What the drill's objectives make of it is not asked here.
  ASSERT_TRUE(code && *code <= 2) << code.value_or(-1) << run->Err() << Slurp(partition_.Path("b/report.md"));
  const std::vector<Json> timeline = Lines(partition_.Path("b/timeline.jsonl"));
  const std::vector<Observed> trials = Trials(timeline);
  std::vector<int64_t> widths;
  int compared = 0;
  int between = 0;
  for (const auto& [means, event] :
       {std::pair("DETECTED", "detected"), {"ISOLATED", "isolated"}, {"REPLACED", "replaced"}}) {
    std::vector<Observed> seen = Seen(timeline, means);
    for (const Json& truth : Lines(partition_.state_dir() + "/run/truth.jsonl")) {
      if (truth.at("event") != event) continue;
      const Observed true_one{Number(truth, "decided_ns"), Number(truth, "said_ns")};
      const auto meets = [&true_one = true_one](const Observed& one) {
        return one.earliest_ns <= true_one.latest_ns && one.latest_ns >= true_one.earliest_ns;
      };
      const auto found = std::find_if(seen.begin(), seen.end(), meets);
      if (found == seen.end()) {
        EXPECT_TRUE(std::none_of(trials.begin(), trials.end(), meets)) << "in a trial, and not seen: " << truth;
        ++between;
        continue;
      }
      widths.push_back(found->latest_ns - found->earliest_ns);
      seen.erase(found);
      ++compared;
    }
    EXPECT_TRUE(seen.empty()) << seen.size() << " reported as " << event << " within no true instant";
  }
  ASSERT_GT(compared, 0);
  std::sort(widths.begin(), widths.end());
  std::printf(
      "%s: %d instants compared with the truth (%d more between trials); intervals: median %.3f ms, widest %.3f ms\n",
      GetParam(), compared, between, static_cast<double>(widths[widths.size() / 2]) / 1e6,
      static_cast<double>(widths.back()) / 1e6);
}

std::string NameOf(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '/' || c == '-' || c == '.') c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Of, Truth, ::testing::Values("software/kill-in-place.yaml", "software/hung-rank.yaml"),
                         NameOf);

}  // namespace
}  // namespace triodrill
