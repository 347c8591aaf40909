#include "reports/evidence/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "reports/evidence/derive.h"
#include "reports/evidence/files.h"
#include "tests/unit/reports/scratch.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Writes a story's bundle as a run would; the digest of the plan is in RunStarted.
void WriteBundle(const Bundle& bundle, Story& story, bool complete) {
  const Timeline told = story.Told();
  const Result<std::string> digest = bundle.WritePlan(story.plan);
  ASSERT_TRUE(digest.ok()) << digest.status();
  auto writer = TimelineWriter::Create(bundle.timeline_path());
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (v1::Fact& fact : AllFacts(told)) {
    if (fact.has_run_started()) fact.mutable_run_started()->set_plan_digest(*digest);
    ASSERT_TRUE((*writer)->Append(std::move(fact)).ok());
  }
  ASSERT_TRUE((*writer)->Sync().ok());
  if (complete) {
    ASSERT_TRUE(bundle.Complete().ok());
  }
}

void Killed(Story& story) {
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(30);
  story.Trial().Kill("n2/0").Signal(2, v1::DETECTED, "n2/0").Restart(2.1).Restored(5, 990).Run(5.5, 14, 991).End(15);
}

TEST(Bundle, MakesItsDirectoryAndLeavesNoProbe) {
  Scratch scratch;
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("a/b"));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch.Path("a/b"))) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("INCOMPLETE", "inputs", "raw"));
}

TEST(Bundle, RefusesADirectoryWithSomethingInIt) {
  Scratch scratch;
  ASSERT_TRUE(WriteWholeFile(scratch.Path("there"), "x").ok());
  const Result<Bundle> bundle = Bundle::Create(scratch.directory());
  EXPECT_THAT(std::string(bundle.status().message()), HasSubstr(scratch.directory()));
  EXPECT_THAT(std::string(bundle.status().message()), HasSubstr("something in it already"));
  EXPECT_TRUE(fs::exists(scratch.Path("there")));
}

TEST(Bundle, RefusesAFileInItsPlace) {
  Scratch scratch;
  ASSERT_TRUE(WriteWholeFile(scratch.Path("file"), "x").ok());
  EXPECT_FALSE(Bundle::Create(scratch.Path("file")).ok());
  EXPECT_FALSE(Bundle::Create(scratch.Path("file/inside")).ok());
}

TEST(Bundle, RefusesADirectoryThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Scratch scratch;
  fs::create_directory(scratch.Path("locked"));
  fs::permissions(scratch.Path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("locked"));
  EXPECT_THAT(std::string(bundle.status().message()), HasSubstr("write into"));
}

TEST(Bundle, WritesOnlyInsideItself) {
  Scratch scratch;
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("bundle"));
  ASSERT_TRUE(bundle.ok());
  EXPECT_TRUE(bundle->WriteFile("raw/deep/n0.log", "line\n").ok());
  EXPECT_EQ(*ReadWholeFile(bundle->Path("raw/deep/n0.log")), "line\n");
  for (const char* outside : {"../x", "/tmp/x", "raw/../../x", ""}) {
    EXPECT_FALSE(bundle->WriteFile(outside, "x").ok()) << outside;
  }
}

TEST(LoadedBundle, DerivesTheSameBytesAgain) {
  Scratch scratch;
  Story story;
  Killed(story);
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("bundle"));
  ASSERT_TRUE(bundle.ok());
  WriteBundle(*bundle, story, false);
  Result<LoadedBundle> loaded = LoadBundle(bundle->directory());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(WriteDerived(*bundle, Derive(*loaded)).ok());
  ASSERT_TRUE(bundle->Complete().ok());

  loaded = LoadBundle(bundle->directory());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->complete) << loaded->problem;
  const Derived again = Derive(*loaded);
  EXPECT_EQ(again.trio_json, loaded->trio_json);
  EXPECT_EQ(again.verdict_json, loaded->verdict_json);
  EXPECT_EQ(again.report_md, loaded->report_md);
  EXPECT_EQ(again.verdict.exit_code, ExitCode::kPassed) << again.verdict.headline;
}

TEST(LoadedBundle, SaysThatItIsIncompleteAfterACrash) {
  Scratch scratch;
  Story story;
  Killed(story);
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("bundle"));
  ASSERT_TRUE(bundle.ok());
  WriteBundle(*bundle, story, false);
  const Result<LoadedBundle> loaded = LoadBundle(bundle->directory());
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded->complete);
  EXPECT_THAT(loaded->problem, HasSubstr("INCOMPLETE"));
}

TEST(LoadedBundle, RefusesAPlanThatWasChangedAfterTheRun) {
  Scratch scratch;
  Story story;
  Killed(story);
  const Result<Bundle> bundle = Bundle::Create(scratch.Path("bundle"));
  ASSERT_TRUE(bundle.ok());
  WriteBundle(*bundle, story, true);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(3000);
  ASSERT_TRUE(bundle->WritePlan(story.plan).ok());
  EXPECT_THAT(std::string(LoadBundle(bundle->directory()).status().message()), HasSubstr("changed after the run"));
}

TEST(LoadedBundle, NamesTheFileThatIsMissing) {
  Scratch scratch;
  EXPECT_THAT(std::string(LoadBundle(scratch.directory()).status().message()), HasSubstr("plan.json"));
}

}  // namespace
}  // namespace triodrill
