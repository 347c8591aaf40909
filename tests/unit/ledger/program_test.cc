// `triodrill ledger` and `triodrill report --quarter` as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/evidence/archive.h"
#include "tests/e2e/program.h"
#include "tests/unit/ledger/told.h"

namespace triodrill::ledger {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using triodrill::testing::Program;
using triodrill::testing::Slurp;
using triodrill::testing::TempDir;
using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{120};
const std::string kGolden = TRIODRILL_SOURCE_DIR "/tests/golden/";

class LedgerProgramTest : public ::testing::Test {
 protected:
  LedgerProgramTest() { unsetenv("TRIODRILL_LEDGER"); }
  ~LedgerProgramTest() override { unsetenv("TRIODRILL_LEDGER"); }

  std::string file() const { return dir_ / "ledger"; }
  int CallBare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIODRILL_BIN_DIR "/triodrill");
    Program program(std::move(arguments), dir_ / "out", dir_ / "err");
    const std::optional<int> code = program.Wait(kPatience);
    out_ = program.Out();
    err_ = program.Err();
    return code.value_or(-1);
  }
  int Call(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--ledger", file()});
    return CallBare(std::move(arguments));
  }
  std::string MakeBundle(const std::string& name, const std::string& started, double detected) {
    Story story;
    for (int i = 0; i < 4; ++i) TellDeath(story, detected + i * 0.1, detected + 4);
    WriteBundle(story, {.run_id = name, .started = started}, dir_ / name);
    return dir_ / name;
  }
  std::string MakeCorruption(const std::string& name) {
    Story story;
    story.Trial().Broken("tensor.flip", "n2/0").Signal(2, v1::DETECTED, "n2/0");
    story.Say(Report(v1::DETECTED, "detected", "n1/0", "detected slot=n1/0 fault=sdc"), 2.2);
    story.Run(2.5, 16, 1001).End(17);
    WriteBundle(story, {.run_id = name, .started = "2026-11-29T12:00:00Z"}, dir_ / name);
    return dir_ / name;
  }
  Json Parsed() const {
    const Json json = Json::parse(out_, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << out_;
    return json;
  }

  TempDir dir_;
  std::string out_, err_;
};

TEST_F(LedgerProgramTest, AddsListsAndSaysWhenThereIsNothingToDo) {
  EXPECT_EQ(Call({"ledger", "list"}), 65);
  EXPECT_THAT(err_, HasSubstr("`triodrill ledger add BUNDLE` makes it"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  const std::string packed = dir_ / "pause.tar.zst";
  ASSERT_TRUE(PackBundle(kGolden + "pause", packed).ok());
  // The stories of the golden files share a run's name, and are different drills.
  ASSERT_EQ(Call({"ledger", "add", kGolden + "kill", packed, "--release", "2.1"}), 0) << err_;
  EXPECT_THAT(out_, StartsWith("added: kill-one-rank, run run-1, release 2.1\nadded: "));
  const std::string before = Slurp(file());
  ASSERT_EQ(Call({"ledger", "add", kGolden + "kill"}), 0) << err_;
  EXPECT_THAT(out_, StartsWith("already there, nothing was changed: kill-one-rank, run run-1, release 2.1"));
  EXPECT_EQ(Slurp(file()), before);
  ASSERT_EQ(Call({"ledger", "list", "--quarter", "2026Q4", "--drill", "kill-one-rank", "--json"}), 0) << err_;
  ASSERT_EQ(Parsed().at("entries").size(), 1U);
  EXPECT_EQ(Parsed().at("entries").at(0).at("release"), "2.1");
  ASSERT_EQ(Call({"ledger", "list", "--quarter", "2026Q3"}), 0);
  EXPECT_EQ(out_, "0 runs, 0 incidents\n");
}

TEST_F(LedgerProgramTest, TakesTheFileFromTheEnvironment) {
  setenv("TRIODRILL_LEDGER", file().c_str(), 1);
  ASSERT_EQ(CallBare({"ledger", "add", kGolden + "kill"}), 0) << err_;
  EXPECT_TRUE(std::filesystem::exists(file()));
  EXPECT_EQ(CallBare({"report", kGolden + "kill"}), 0) << err_;
}

TEST_F(LedgerProgramTest, ABundleThatIsNoneOrIncompleteKeepsEverythingOut) {
  EXPECT_EQ(Call({"ledger", "add", kGolden + "kill", kGolden + "writer-died"}), 65);
  EXPECT_THAT(err_, HasSubstr("the bundle is incomplete"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(Call({"ledger", "add", kGolden + "kill", dir_.path()}), 65);
  ASSERT_EQ(Call({"ledger", "add", kGolden + "link"}), 0) << err_;
  EXPECT_EQ(Call({"ledger", "add", kGolden + "kill", kGolden + "writer-died"}), 65);
  ASSERT_EQ(Call({"ledger", "list", "--json"}), 0);
  EXPECT_EQ(Parsed().at("entries").size(), 1U);
}

TEST_F(LedgerProgramTest, AChangedRunIsRefused) {
  const std::string first = MakeBundle("first", "2026-11-29T12:00:00Z", 2);
  ASSERT_EQ(Call({"ledger", "add", first}), 0) << err_;
  std::filesystem::rename(first, dir_ / "kept");
  const std::string changed = MakeBundle("first", "2026-11-29T12:00:00Z", 1);
  EXPECT_EQ(Call({"ledger", "add", changed}), 3);
  EXPECT_THAT(err_, HasSubstr("with another timeline"));
}

TEST_F(LedgerProgramTest, SdcIsListedDisposedOfAndExported) {
  ASSERT_EQ(Call({"ledger", "add", MakeCorruption("sdc")}), 0) << err_;
  ASSERT_EQ(Call({"ledger", "sdc", "--json"}), 0) << err_;
  const Json entries = Parsed().at("entries");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries.at(0).at("outcome"), "detected");
  EXPECT_EQ(entries.at(0).at("disposition"), "injected");
  EXPECT_EQ(entries.at(1).at("slot"), "n1/0");
  EXPECT_EQ(entries.at(1).at("disposition"), "suspect");
  EXPECT_EQ(Call({"ledger", "dispose", "2", "fine", "--reason", "x"}), 64);
  EXPECT_EQ(Call({"ledger", "dispose", "9", "cleared", "--reason", "x"}), 64);
  EXPECT_EQ(Call({"ledger", "dispose", "2", "cleared"}), 64);
  EXPECT_EQ(Call({"ledger", "dispose", "2", "cleared", "--reason", "bad\nline"}), 64);
  ASSERT_EQ(Call({"ledger", "dispose", "2", "cleared", "--reason", "=59 clean trials"}), 0) << err_;
  ASSERT_EQ(Call({"ledger", "sdc"}), 0);
  EXPECT_THAT(out_, HasSubstr("n1/0  cleared  suspected, nothing was changed"));
  EXPECT_THAT(out_, HasSubstr("co-located"));
  ASSERT_EQ(Call({"ledger", "export", "--format", "csv", "--out", dir_ / "all.csv"}), 0) << err_;
  EXPECT_THAT(Slurp(dir_ / "all.csv"), HasSubstr("\"'=59 clean trials\""));
  ASSERT_EQ(Call({"ledger", "export", "--format", "json"}), 0) << err_;
  EXPECT_EQ(Parsed().at("sdc").at(1).at("dispositions").at(0).at("reason"), "=59 clean trials");
}

TEST_F(LedgerProgramTest, AnIncidentStandsBesideTheDrills) {
  ASSERT_EQ(Call({"ledger", "incident", "--started", "2026-11-29T11:00:00Z", "--detected", "2026-11-29T11:02:00Z",
                  "--severity", "P1", "--summary", "a switch died", "--drill", "kill-one-rank"}),
            0)
      << err_;
  ASSERT_EQ(Call({"ledger", "add", kGolden + "kill"}), 0) << err_;
  ASSERT_EQ(Call({"ledger", "list"}), 0);
  EXPECT_THAT(out_, HasSubstr("! 2026-11-29T11:00:00Z  INCIDENT P1   a switch died, kill-one-rank"));
  EXPECT_EQ(Call({"ledger", "incident", "--started", "now", "--severity", "P1", "--summary", "x"}), 64);
  EXPECT_EQ(Call({"ledger", "incident", "--started", "2026-11-29", "--severity", "P7", "--summary", "x"}), 64);
  EXPECT_EQ(Call({"ledger", "incident", "--started", "2026-11-29", "--ended", "2026-11-28", "--severity", "P1",
                  "--summary", "x"}),
            64);
  EXPECT_EQ(Call({"ledger", "incident", "--started", "2026-11-29", "--severity", "P1"}), 64);
}

TEST_F(LedgerProgramTest, AQuarterIsHeldAgainstTheOneBefore) {
  ASSERT_EQ(Call({"ledger", "add", MakeBundle("q3-a", "2026-07-01T00:00:00Z", 2),
                  MakeBundle("q3-b", "2026-09-30T23:59:59Z", 2.05), "--release", "1.0"}),
            0)
      << err_;
  ASSERT_EQ(Call({"ledger", "add", MakeBundle("q4-a", "2026-10-01T00:00:00Z", 6),
                  MakeBundle("q4-b", "2026-11-01T00:00:00Z", 6.05), "--release", "1.1"}),
            0)
      << err_;
  ASSERT_EQ(Call({"report", "--quarter", "2026Q4"}), 0) << err_;
  EXPECT_THAT(out_, StartsWith("2026Q4 against 2026Q3: "));
  EXPECT_THAT(out_, HasSubstr("told, torchrun, release 1.1 against release 1.0"));
  EXPECT_THAT(out_, HasSubstr("REGRESSED"));
  ASSERT_EQ(Call({"report", "--quarter", "2026Q4", "--format", "json"}), 0) << err_;
  const Json metric = Parsed().at("rows").at(0).at("metrics").at(0);
  EXPECT_EQ(metric.at("name"), "detection_latency");
  EXPECT_EQ(metric.at("change"), "regressed");
  EXPECT_EQ(metric.at("now").at("n"), 8);
  ASSERT_EQ(Call({"report", "--quarter", "2026Q4", "--format", "md"}), 0);
  EXPECT_THAT(out_, StartsWith("# 2026Q4 against 2026Q3"));
  ASSERT_EQ(Call({"report", "--quarter", "2026Q4", "--format", "html", "--out", dir_ / "q.html"}), 0);
  EXPECT_THAT(Slurp(dir_ / "q.html"), StartsWith("<!doctype html>"));
  EXPECT_THAT(Slurp(dir_ / "q.html"), Not(HasSubstr("<script")));
  EXPECT_EQ(Call({"report", "--quarter", "2026Q4", "--format", "junit"}), 64);
  EXPECT_EQ(Call({"report", "--quarter", "Q4"}), 64);
  EXPECT_EQ(Call({"report", "--quarter", "2026Q4", kGolden + "kill"}), 64);
  EXPECT_EQ(Call({"report"}), 64);
}

}  // namespace
}  // namespace triodrill::ledger
