// `triodrill` as a user calls it, for everything that needs no partition: help, exit codes, errors with their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "coordinator/cli/completion.h"
#include "tests/e2e/program.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using triodrill::testing::Program;
using triodrill::testing::TempDir;
using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{60};
const std::string kSource = TRIODRILL_SOURCE_DIR;
const std::string kLibrary = kSource + "/drills/library/";

class ProgramTest : public ::testing::Test {
 protected:
  int Call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIODRILL_BIN_DIR "/triodrill");
    Program program(std::move(arguments), dir_ / "out", dir_ / "err");
    const std::optional<int> code = program.Wait(kPatience);
    out_ = program.Out();
    err_ = program.Err();
    return code.value_or(-1);
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }

  TempDir dir_;
  std::string out_, err_;
};

// Options as --help lists them.
std::set<std::string> OptionsIn(const std::string& help) {
  std::set<std::string> options;
  for (size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
    const size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    options.insert(help.substr(at, end - at));
  }
  return options;
}

TEST_F(ProgramTest, EveryVerbAndOptionOfTheTableIsTakenAndNoOther) {
  ASSERT_EQ(Call({"--help"}), 0);
  const std::string verbs_help = out_;
  for (const VerbWords& verb : Verbs()) {
    EXPECT_THAT(verbs_help, HasSubstr(Cat("\n  ", verb.name, " ")));
    // What the verbs below it take, together: `shadow up` and its like take the same each.
    std::vector<std::string> below{""};
    if (verb.name == "shadow" || verb.name == "ledger") below.assign(verb.choices.begin(), verb.choices.end());
    std::set<std::string> taken;
    for (const std::string& inner : below) {
      std::vector<std::string> call{std::string(verb.name)};
      if (!inner.empty()) call.push_back(inner);
      call.emplace_back("--help");
      ASSERT_EQ(Call(call), 0) << verb.name << " " << inner;
      taken.merge(OptionsIn(out_));
    }
    std::set<std::string> known{"--help"};
    for (const OptionWords& option : verb.options) known.insert(std::string(option.name));
    EXPECT_EQ(taken, known) << verb.name << "\n" << out_;
  }
}

TEST_F(ProgramTest, AWrongCallIsUsage) {
  EXPECT_EQ(Call({}), 64);
  EXPECT_EQ(Call({"explode"}), 64);
  EXPECT_EQ(Call({"run"}), 64);
  EXPECT_EQ(Call({"run", "x.yaml", "--trials", "-3"}), 64);
  EXPECT_EQ(Call({"report", "b", "--format", "pdf"}), 64);
  EXPECT_EQ(Call({"explain", "no.such.thing"}), 64);
}

TEST_F(ProgramTest, AnInvalidFileIsNamedWithItsPlaceByEveryVerbThatReadsIt) {
  const std::string file =
      Write("d.yaml", "apiVersion: triodrill/v1\nkind: Drill\nmetadata: {name: x}\nspec:\n  fautls: []\n");
  for (const char* verb : {"validate", "plan", "run"}) {
    EXPECT_EQ(Call({verb, file}), 65) << verb;
    EXPECT_THAT(err_, HasSubstr(file + ":5:3: error: ")) << verb;
    EXPECT_THAT(err_, HasSubstr("faults")) << verb;
  }
  EXPECT_EQ(Call({"validate", dir_ / "nowhere.yaml"}), 65);
}

TEST_F(ProgramTest, ValidateSaysWhatItFoundAsJson) {
  ASSERT_EQ(Call({"validate", "--json", kLibrary + "software/kill-one-rank.yaml"}), 0);
  const Json found = Json::parse(out_, nullptr, false);
  ASSERT_FALSE(found.is_discarded()) << out_;
  EXPECT_EQ(found.at(0).at("kind"), "Drill");
  EXPECT_TRUE(found.at(0).at("valid").get<bool>());
}

TEST_F(ProgramTest, APlanIsTheSameTwiceAndShowsTheChecks) {
  ASSERT_EQ(Call({"plan", kLibrary + "software/kill-one-rank.yaml"}), 0) << err_;
  const std::string first = out_;
  EXPECT_THAT(first, HasSubstr("partition_is_shadow"));
  ASSERT_EQ(Call({"plan", kLibrary + "software/kill-one-rank.yaml"}), 0);
  EXPECT_EQ(first, out_);
}

TEST_F(ProgramTest, APartitionThatIsNotShadowIsRefused) {
  std::string text = triodrill::testing::Slurp(kSource + "/drills/partitions/embedded.yaml");
  const size_t mark = text.find("shadow: true");
  ASSERT_NE(mark, std::string::npos);
  text.replace(mark, 12, "shadow: false");
  const std::string file = Write("p.yaml", text);
  EXPECT_EQ(Call({"plan", kLibrary + "software/kill-one-rank.yaml", "--partition", file}), 3);
  EXPECT_THAT(out_, HasSubstr("DENY partition_is_shadow"));
}

TEST_F(ProgramTest, ASelectorThatMatchesMoreThanItsLimitIsRefused) {
  std::string text = triodrill::testing::Slurp(kLibrary + "software/kill-one-rank.yaml");
  const size_t mark = text.find(", pick: 1");
  ASSERT_NE(mark, std::string::npos);
  text.erase(mark, 9);
  EXPECT_EQ(Call({"plan", Write("d.yaml", text)}), 3);
  EXPECT_THAT(err_, HasSubstr("matches 8, its limit is 1"));
}

TEST_F(ProgramTest, FaultsAreListedForMachines) {
  ASSERT_EQ(Call({"faults", "--json"}), 0);
  const Json faults = Json::parse(out_, nullptr, false);
  ASSERT_EQ(faults.size(), FaultCatalogue().size());
  for (const Json& fault : faults) {
    for (const char* key : {"kind", "level", "category", "reversal", "tier", "privileges", "proof"}) {
      EXPECT_TRUE(fault.contains(key)) << key;
    }
  }
}

TEST_F(ProgramTest, ABundleThatIsNoneIsAnInvalidFile) {
  EXPECT_EQ(Call({"judge", dir_.path()}), 65);
  EXPECT_THAT(err_, StartsWith("triodrill: error: "));
  EXPECT_EQ(Call({"report", "/nowhere"}), 65);
}

TEST_F(ProgramTest, KeygenMakesTwoKeysAndWritesOverNone) {
  ASSERT_EQ(Call({"keygen", "--out", dir_ / "keys"}), 0) << err_;
  const std::string key = triodrill::testing::Slurp(dir_ / "keys/signing.key");
  EXPECT_THAT(key, StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_EQ(Call({"keygen", "--out", dir_ / "keys"}), 3);
  EXPECT_THAT(err_, HasSubstr("never written over"));
  EXPECT_EQ(triodrill::testing::Slurp(dir_ / "keys/signing.key"), key);
  EXPECT_EQ(Call({"keygen"}), 64);
}

TEST_F(ProgramTest, VerifySaysWhatABundleThatNobodySignedDoesNotProve) {
  ASSERT_EQ(Call({"keygen", "--out", dir_.path()}), 0) << err_;
  EXPECT_EQ(Call({"verify", kSource + "/tests/golden/kill", "--key", dir_ / "signing.pub"}), 2) << err_;
  EXPECT_THAT(out_, StartsWith("NOT PROVED"));
  EXPECT_EQ(Call({"verify", kSource + "/tests/golden/kill", "--key", dir_ / "signing.pub", "--json"}), 2);
  EXPECT_EQ(Json::parse(out_, nullptr, false).value("exit_code", -1), 2) << out_;
  EXPECT_EQ(Call({"verify", dir_.path(), "--key", dir_ / "signing.pub"}), 65);
  EXPECT_EQ(Call({"verify", kSource + "/tests/golden/kill", "--key", dir_ / "signing.key"}), 65);
  EXPECT_EQ(Call({"verify", kSource + "/tests/golden/kill"}), 64);
}

TEST_F(ProgramTest, ARunThatCannotBeSignedTouchesNothing) {
  EXPECT_EQ(Call({"run", kLibrary + "software/kill-one-rank.yaml", "--sign", dir_ / "nowhere", "--out", dir_ / "b",
                  "--state-dir", dir_ / "s"}),
            65);
  EXPECT_THAT(err_, HasSubstr("nothing was touched"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "b"));
}

TEST_F(ProgramTest, CompareAnswersWithTheExitCodesOfARun) {
  const std::string golden = kSource + "/tests/golden/";
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "kill"}), 2) << err_;
  EXPECT_THAT(out_, StartsWith("NOT ENOUGH TRIALS kill-one-rank"));
  EXPECT_THAT(out_, HasSubstr("on each side would be enough"));
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "pause"}), 3);
  EXPECT_THAT(out_, HasSubstr("drill.name"));
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "pause", "--across", "--json"}), 2);
  EXPECT_EQ(Json::parse(out_, nullptr, false).value("change", ""), "not_enough_trials") << out_;
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "writer-died"}), 65);
  EXPECT_THAT(err_, HasSubstr("incomplete"));
  EXPECT_EQ(Call({"compare", golden + "kill", dir_.path()}), 65);
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "kill", "--alpha", "2"}), 64);
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "kill", "--max-regression", "a lot"}), 64);
  EXPECT_EQ(Call({"compare", golden + "kill", golden + "kill", "--md", "--json"}), 64);
  EXPECT_EQ(Call({"compare", golden + "kill"}), 64);
}

TEST_F(ProgramTest, APlanSaysHowManyTrialsItsObjectivesNeed) {
  ASSERT_EQ(Call({"plan", kLibrary + "software/kill-one-rank.yaml", "--power"}), 0) << err_;
  EXPECT_THAT(out_, StartsWith("Planned: "));
  EXPECT_THAT(out_, HasSubstr("299"));
}

TEST_F(ProgramTest, NothingIsUpIsAnAnswer) {
  EXPECT_EQ(Call({"shadow", "status", "--state-dir", dir_ / "s"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("reference: down"));
  EXPECT_EQ(Call({"shadow", "down", "--state-dir", dir_ / "s"}), 0) << err_;
  EXPECT_EQ(Call({"shadow", "down", "--state-dir", dir_ / "s"}), 0) << err_;
  EXPECT_EQ(Call({"abort", "--state-dir", dir_ / "s"}), 0) << err_;
  EXPECT_EQ(Call({"recover", "--state-dir", dir_ / "s"}), 0) << err_;
}

}  // namespace
}  // namespace triodrill::cli
