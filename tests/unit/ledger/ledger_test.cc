#include "reports/ledger/ledger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "reports/evidence/files.h"
#include "reports/ledger/calendar.h"
#include "tests/unit/ledger/told.h"
#include "tests/unit/reports/scratch.h"
#include "tests/unit/reports/signed_bundle.h"

namespace triodrill::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using std::string_literals::operator""s;

constexpr Nanos kShort = std::chrono::milliseconds(100);
const std::string kNow = "2026-11-30T08:00:00Z";

class LedgerTest : public ::testing::Test {
 protected:
  std::string path() const { return scratch_.Path("ledger.sqlite"); }
  Ledger Write() const { return *Ledger::OpenToWrite(path()); }
  LedgerRows Read() const { return *Ledger::OpenToRead(path())->Read(); }
  static ToldRun Run(const Told& told = {}) {
    Story story;
    TellDeath(story);
    return Taken(story, told);
  }
  // A ledger with one run, one suspect in it.
  void AddSuspect() const {
    Story story;
    story.Trial().Broken("tensor.flip", "n2/0").Signal(2, v1::DETECTED, "n2/0").Run(2.5, 16, 1001).End(17);
    ASSERT_TRUE(Write().Add(std::vector{Taken(story)}, kNow).ok());
  }

  Scratch scratch_;
};

TEST_F(LedgerTest, GivesBackWhatWasPutIn) {
  Story story;
  story.Trial().Broken("tensor.flip", "n2/0").Signal(2, v1::DETECTED, "n2/0").Run(2.5, 16, 1001).End(17);
  story.Trial().Pause("n1/0", "for", 20).Withdraw(20).Run(20.1, 40, 1001).End(61);
  story.Sham().Run(0.05, 12, 1001).End(12);
  const ToldRun told = Taken(story, {.release = "2.1"});
  ASSERT_TRUE(Write().Add(std::vector{told}, kNow).ok());
  const LedgerRows rows = Read();
  ASSERT_THAT(rows.runs, SizeIs(1));
  const RunRow& run = rows.runs[0];
  EXPECT_EQ(run.trials, told.run.trials);
  EXPECT_EQ(run.served, told.run.served);
  ASSERT_THAT(run.sdc, SizeIs(1));
  SdcRow sdc = run.sdc[0];
  EXPECT_GT(sdc.id, 0);
  sdc.id = 0;
  EXPECT_EQ(sdc, told.run.sdc[0]);
  const auto texts = [](const RunRow& row) {
    return std::vector{row.run_id,       row.plan_digest, row.timeline_head, row.drill,      row.pipeline,
                       row.partition,    row.release,     row.started,       row.verdict,    row.outcome,
                       row.headline,     row.host,        row.simulated,     row.conditions, row.bundle,
                       row.tool_version, row.kernel,      row.operator_name};
  };
  EXPECT_EQ(texts(run), texts(told.run));
  EXPECT_EQ(run.detection_deadline, told.run.detection_deadline);
  EXPECT_EQ(run.recovery_deadline, told.run.recovery_deadline);
  EXPECT_EQ(run.exit_code, told.run.exit_code);
  EXPECT_EQ(run.added, kNow);
  EXPECT_EQ(rows.conditions.at(run.conditions), told.conditions);
}

TEST_F(LedgerTest, TheSameRunTwiceChangesNothing) {
  Ledger ledger = Write();
  EXPECT_EQ(ledger.Add(std::vector{Run({.release = "1"})}, kNow)->at(0).what, Addition::kAdded);
  const std::vector<Added> again = *ledger.Add(std::vector{Run({.release = "2"}), Run()}, "2026-12-01T00:00:00Z");
  EXPECT_EQ(again.at(0).what, Addition::kAlreadyThere);
  EXPECT_EQ(again.at(0).release, "1") << "it stands as it was put in";
  const LedgerRows rows = Read();
  ASSERT_THAT(rows.runs, SizeIs(1));
  EXPECT_EQ(rows.runs[0].added, kNow);
}

TEST_F(LedgerTest, AChangedRunIsRefusedAndNothingOfTheCallIsKept) {
  Ledger ledger = Write();
  ASSERT_TRUE(ledger.Add(std::vector{Run()}, kNow).ok());
  ToldRun changed = Run();
  changed.run.timeline_head = "another";
  const Status timeline = ledger.Add(std::vector{Run({.run_id = "run-2"}), changed}, kNow).status();
  EXPECT_EQ(timeline.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(timeline.message()), HasSubstr("run run-1 of told is there with another timeline"));
  EXPECT_THAT(Read().runs, SizeIs(1));
  ToldRun replanned = Run();
  replanned.run.plan_digest = "another";
  EXPECT_THAT(std::string(ledger.Add(std::vector{replanned}, kNow).status().message()), HasSubstr("another plan"));
}

TEST_F(LedgerTest, DrillsOfOneSessionShareARunId) {
  ToldRun other = Run();
  other.run.drill = "link-lost";
  EXPECT_TRUE(Write().Add(std::vector{Run(), other}, kNow).ok());
  EXPECT_THAT(Read().runs, SizeIs(2));
}

TEST_F(LedgerTest, KeepsTheQuarterOfTheStart) {
  ASSERT_TRUE(Write().Add(std::vector{Run({.started = "2026-09-30T23:59:59Z"})}, kNow).ok());
  Database database = *Database::Open(path(), Database::Mode::kRead, kShort);
  Statement quarter = *database.Query("SELECT quarter FROM run");
  ASSERT_TRUE(*quarter.Next());
  EXPECT_EQ(quarter.Text(0), "2026Q3");
}

TEST_F(LedgerTest, HoldsHostileTextsAsTheyAre) {
  const std::string hostile = "'; DROP TABLE run; --\"\x1b[31m\n\\ %s \xE2\x80\xAE x\0y"s;
  ToldRun told = Run();
  told.run.release = told.run.drill = told.run.headline = told.run.bundle = hostile;
  told.run.trials[0].signal = hostile;
  told.conditions[hostile] = hostile;
  ASSERT_TRUE(Write().Add(std::vector{told}, kNow).ok());
  const LedgerRows rows = Read();
  ASSERT_THAT(rows.runs, SizeIs(1));
  EXPECT_EQ(rows.runs[0].release, hostile);
  EXPECT_EQ(rows.runs[0].trials[0].signal, hostile);
  EXPECT_EQ(rows.conditions.at(told.run.conditions).at(hostile), hostile);
}

TEST_F(LedgerTest, AWordAboutAnEntryIsAddedToWhatWasSaid) {
  AddSuspect();
  Ledger ledger = Write();
  const int64_t entry = Read().runs.at(0).sdc.at(0).id;
  ASSERT_TRUE(ledger.Dispose({.entry = entry, .disposition = "cleared", .reason = "clean", .at = kNow}).ok());
  ASSERT_TRUE(ledger.Dispose({.entry = entry, .disposition = "retired", .reason = "again", .at = kNow}).ok());
  const LedgerRows rows = Read();
  ASSERT_THAT(rows.dispositions, SizeIs(2));
  EXPECT_EQ(rows.dispositions[0].reason, "clean");
  EXPECT_EQ(rows.dispositions[1].disposition, "retired");
  const Status unknown = ledger.Dispose({.entry = 4711, .disposition = "cleared", .reason = "x", .at = kNow});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("entry 4711"));
}

TEST_F(LedgerTest, WhatWasSaidCannotBeChangedOrTakenAway) {
  AddSuspect();
  ASSERT_TRUE(Write().Dispose({.entry = 1, .disposition = "cleared", .reason = "clean", .at = kNow}).ok());
  Database database = *Database::Open(path(), Database::Mode::kWrite, kShort);
  EXPECT_THAT(std::string(database.Run("UPDATE disposition SET reason = 'x'").message()), HasSubstr("is kept"));
  EXPECT_THAT(std::string(database.Run("DELETE FROM disposition").message()), HasSubstr("is kept"));
  EXPECT_FALSE(database.Run("DELETE FROM sdc").ok()) << "somebody spoke of it";
}

TEST_F(LedgerTest, KeepsIncidentsByTime) {
  Ledger ledger = Write();
  ASSERT_TRUE(ledger.Add(IncidentRow{.started = "2026-11-02T00:00:00Z", .severity = "P1", .summary = "b"}).ok());
  ASSERT_TRUE(ledger.Add(IncidentRow{.started = "2026-11-01T00:00:00Z", .severity = "P0", .summary = "a"}).ok());
  const LedgerRows rows = Read();
  ASSERT_THAT(rows.incidents, SizeIs(2));
  EXPECT_EQ(rows.incidents[0].summary, "a");
  EXPECT_EQ(rows.incidents[1].id, 1);
}

// ---- the file

TEST_F(LedgerTest, IsForItsOwnerAlone) {
  Write();
  struct stat seen {};
  ASSERT_EQ(stat(path().c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600U);
}

TEST_F(LedgerTest, IsOneFileOnceNobodyWrites) {
  ASSERT_TRUE(Write().Add(std::vector{Run()}, kNow).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.directory())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("ledger.sqlite"));
}

TEST_F(LedgerTest, ReadingMakesNoFile) {
  const Status none = Ledger::OpenToRead(path()).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr("`triodrill ledger add BUNDLE` makes it"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(LedgerTest, ReadingChangesNoByte) {
  ASSERT_TRUE(Write().Add(std::vector{Run()}, kNow).ok());
  const std::string before = *ReadWholeFile(path());
  ASSERT_EQ(chmod(path().c_str(), 0400), 0);
  EXPECT_THAT(Read().runs, SizeIs(1));
  EXPECT_EQ(*ReadWholeFile(path()), before);
}

TEST_F(LedgerTest, RefusesWhatIsNoLedger) {
  const auto why = [&] { return std::string(Ledger::OpenToRead(path()).status().message()); };
  std::ofstream(path()) << "name: drill\nsome: text that is long enough to be a header of something else\n"
                        << std::string(4096, 'x');
  EXPECT_EQ(Ledger::OpenToWrite(path()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(why(), HasSubstr("not a database"));
  std::filesystem::remove(path());
  std::ofstream(path()) << "";
  EXPECT_THAT(why(), HasSubstr("it is empty"));
  Database other = *Database::Open(path(), Database::Mode::kWrite, kShort);
  ASSERT_TRUE(other.Run("CREATE TABLE history(x TEXT)").ok());
  EXPECT_THAT(why(), HasSubstr("no ledger"));
  EXPECT_THAT(std::string(Ledger::OpenToWrite(path()).status().message()), HasSubstr("no ledger"));
}

TEST_F(LedgerTest, RefusesOneOfANewerProgram) {
  Write();
  Database database = *Database::Open(path(), Database::Mode::kWrite, kShort);
  ASSERT_TRUE(database.Run("UPDATE meta SET value = '2'").ok());
  for (const Status& status : {Ledger::OpenToRead(path()).status(), Ledger::OpenToWrite(path()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("newer triodrill (schema 2, this one knows 1)"));
  }
  ASSERT_TRUE(database.Run("UPDATE meta SET value = 'many'").ok());
  EXPECT_THAT(std::string(Ledger::OpenToRead(path()).status().message()), HasSubstr("is none"));
}

TEST_F(LedgerTest, NamesThatSqliteReadsOtherwiseAreFiles) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.directory());
  EXPECT_TRUE(Ledger::OpenToWrite(":memory:").ok());
  EXPECT_TRUE(std::filesystem::exists(":memory:"));
  EXPECT_TRUE(Ledger::OpenToRead(":memory:").ok());
  std::filesystem::current_path(before);
}

// ---- several at once

TEST_F(LedgerTest, ASecondWriterWaitsAndThenSaysWhy) {
  Write();
  Database holder = *Database::Open(path(), Database::Mode::kWrite, kShort);
  const Result<Transaction> held = Transaction::Begin(holder);
  ASSERT_TRUE(held.ok());
  Ledger second = *Ledger::OpenToWrite(path(), kShort);
  const Status status = second.Add(std::vector{Run()}, kNow).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another process is writing to it, try again"));
}

TEST_F(LedgerTest, AReaderReadsWhileAnotherBeginsToWrite) {
  ASSERT_TRUE(Write().Add(std::vector{Run()}, kNow).ok());
  Database holder = *Database::Open(path(), Database::Mode::kWrite, kShort);
  const Result<Transaction> held = Transaction::Begin(holder);
  ASSERT_TRUE(holder.Run("INSERT INTO incident VALUES(9,'','','','','','','','','','','')").ok());
  const LedgerRows rows = Read();
  EXPECT_THAT(rows.runs, SizeIs(1));
  EXPECT_THAT(rows.incidents, SizeIs(0));
}

TEST_F(LedgerTest, TwoThatBeginTogetherBothGetTheirRunsIn) {
  constexpr int kEach = 8;
  const auto writer = [&](const std::string& name) {
    for (int i = 0; i < kEach; ++i) {
      Result<Ledger> ledger = Ledger::OpenToWrite(path(), std::chrono::seconds(120));
      ASSERT_TRUE(ledger.ok()) << ledger.status();
      const Status added = ledger->Add(std::vector{Run({.run_id = name + std::to_string(i)})}, kNow).status();
      ASSERT_TRUE(added.ok()) << added;
    }
  };
  std::thread one(writer, "one-");
  std::thread two(writer, "two-");
  one.join();
  two.join();
  EXPECT_THAT(Read().runs, SizeIs(2 * kEach));
}

// ---- from the disk

TEST(LedgerOfBundles, TheTimelinesDigestIsTheOneThatIsSigned) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const std::string timeline = bundle.Read("timeline.jsonl");
  const size_t last = timeline.rfind('\n', timeline.size() - 2);
  const Result<LoadedBundle> loaded = LoadBundle(bundle.directory());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(TakenFrom(*loaded)->run.timeline_head,
            Sha256Hex(std::string_view(timeline).substr(last + 1, timeline.size() - last - 2)));
}

TEST(LedgerOfBundles, WhatStandsInTrioJsonIsNotBelieved) {
  SignedBundle bundle;
  bundle.WriteWhole();
  bundle.Put("trio.json", "{\"drill\": \"another\"}");
  bundle.Put("verdict.json", "{\"verdict\": \"PASS\"}");
  const Result<LoadedBundle> loaded = LoadBundle(bundle.directory());
  ASSERT_TRUE(loaded.ok());
  const ToldRun told = *TakenFrom(*loaded);
  EXPECT_EQ(told.run.drill, "told");
  EXPECT_EQ(told.run.trials.at(0).detection->low, Nanos(std::chrono::microseconds(1'999'000)));
}

}  // namespace
}  // namespace triodrill::ledger
