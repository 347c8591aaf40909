// Saved runs and what was made of them, compared to the byte. Each directory under tests/golden holds plan.json and
// timeline.jsonl (what goes in) and trio.json, verdict.json and report.md (what comes out).
//
//   TRIODRILL_GOLDEN=derive build/dev/tests/golden_test   writes the outputs anew from the saved inputs
//   TRIODRILL_GOLDEN=tell   build/dev/tests/golden_test   writes the inputs anew from stories.cc too
//
// Then read the difference: it is the change in meaning that the commit makes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "reports/evidence/derive.h"
#include "reports/evidence/files.h"
#include "reports/render/result_schema.h"
#include "reports/render/verdict_json.h"
#include "tests/e2e/program.h"
#include "tests/golden/stories.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

std::string Mode() {
  const char* mode = std::getenv("TRIODRILL_GOLDEN");
  return mode == nullptr ? "" : mode;
}

std::string Directory(std::string_view name) {
  return (fs::path(TRIODRILL_SOURCE_DIR) / "tests" / "golden" / name).string();
}

std::string File(std::string_view name, std::string_view file) { return (fs::path(Directory(name)) / file).string(); }

class Golden : public ::testing::TestWithParam<GoldenStory> {};

void WriteInputs(const GoldenStory& golden) {
  Story story(4);
  golden.tell(story);
  const Timeline told = story.Told();
  fs::create_directories(Directory(golden.name));
  const std::string path = File(golden.name, kTimelineFile);
  fs::remove(path);
  ASSERT_TRUE(WriteWholeFile(File(golden.name, kPlanFile), PlanBytes(story.plan)).ok());
  auto writer = TimelineWriter::Create(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (v1::Fact& fact : AllFacts(told)) {
    if (fact.has_run_started()) fact.mutable_run_started()->set_plan_digest(PlanDigest(story.plan));
    ASSERT_TRUE((*writer)->Append(std::move(fact)).ok());
  }
}

void Compare(std::string_view name, std::string_view file, const std::string& derived) {
  const std::string path = File(name, file);
  if (!Mode().empty()) {
    ASSERT_TRUE(WriteWholeFile(path, derived).ok());
    return;
  }
  const Result<std::string> saved = ReadWholeFile(path);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(derived, *saved) << path << " says something else; see the head of golden_test.cc";
}

TEST_P(Golden, MeansWhatItMeant) {
  const GoldenStory& golden = GetParam();
  if (Mode() == "tell") WriteInputs(golden);
  const Result<LoadedBundle> bundle = LoadBundle(Directory(golden.name));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const Derived derived = Derive(*bundle);
  Compare(golden.name, kTrioFile, derived.trio_json);
  Compare(golden.name, kVerdictFile, derived.verdict_json);
  Compare(golden.name, kReportFile, derived.report_md);
  if (!Mode().empty()) GTEST_SKIP() << "TRIODRILL_GOLDEN: written, not compared";
}

INSTANTIATE_TEST_SUITE_P(Runs, Golden, ::testing::ValuesIn(GoldenStories().begin(), GoldenStories().end()),
                         [](const auto& golden) {
                           std::string name(golden.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(GoldenRuns, EachDirectoryHasItsStory) {
  if (!Mode().empty()) GTEST_SKIP() << "TRIODRILL_GOLDEN: directories are being written";
  std::set<std::string> told;
  for (const GoldenStory& story : GoldenStories()) told.insert(std::string(story.name));
  std::set<std::string> saved;
  for (const fs::directory_entry& entry : fs::directory_iterator(Directory(""))) {
    if (entry.is_directory()) saved.insert(entry.path().filename().string());
  }
  EXPECT_EQ(told, saved);
}

// Every saved run against the schema of the results, by an implementation of JSON Schema that is not ours.
TEST(GoldenRuns, KeepTheSchemaOfTheResults) {
  if (!Mode().empty()) GTEST_SKIP() << "TRIODRILL_GOLDEN: results are being written";
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/python3";
  const testing::TempDir dir;
  const auto check = [&](std::string_view kind, const std::vector<std::string>& documents) {
    EXPECT_TRUE(WriteWholeFile(dir / "schema", ResultSchema(kind)).ok());
    std::vector<std::string> argv = {"/usr/bin/python3", TRIODRILL_SOURCE_DIR "/tests/golden/schema_check.py",
                                     dir / "schema"};
    argv.insert(argv.end(), documents.begin(), documents.end());
    testing::Program program(std::move(argv), dir / "out", dir / "err");
    const std::optional<int> code = program.Wait(std::chrono::seconds(60));
    return std::pair(code.value_or(-1), program.Out() + program.Err());
  };
  std::vector<std::string> runs;
  std::vector<std::string> trios;
  std::vector<std::string> verdicts;
  for (const GoldenStory& golden : GoldenStories()) {
    const Result<LoadedBundle> bundle = LoadBundle(Directory(golden.name));
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    const Derived derived = Derive(*bundle);
    runs.push_back(dir / std::string(golden.name));
    ASSERT_TRUE(WriteWholeFile(runs.back(), RunJson(derived.verdict, derived.trio, bundle->directory)).ok());
    trios.push_back(File(golden.name, kTrioFile));
    verdicts.push_back(File(golden.name, kVerdictFile));
  }
  const auto [code, said] = check("Run", runs);
  if (code == 77) GTEST_SKIP() << said;
  EXPECT_EQ(code, 0) << said;
  const auto [trio_code, trio_said] = check("Trio", trios);
  EXPECT_EQ(trio_code, 0) << trio_said;
  const auto [verdict_code, verdict_said] = check("Verdict", verdicts);
  EXPECT_EQ(verdict_code, 0) << verdict_said;
  EXPECT_EQ(check("Verdict", trios).first, 1) << "it must be able to refuse";
}

}  // namespace
}  // namespace triodrill
