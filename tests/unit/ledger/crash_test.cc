// A writer that is killed leaves a whole ledger: what was committed, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "reports/ledger/ledger.h"
#include "tests/e2e/program.h"
#include "tests/unit/ledger/told.h"
#include "tests/unit/reports/scratch.h"

namespace triodrill::ledger {
namespace {

using ::testing::SizeIs;

constexpr std::chrono::seconds kPatience{120};
const std::string kNow = "2026-11-30T08:00:00Z";

// A child that is killed at the latest when the value goes.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    pid_ = fork();
    if (pid_ != 0) return;
    body();
    _exit(0);
  }
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

std::string Checked(const std::string& path) {
  Database database = *Database::Open(path, Database::Mode::kWrite, kPatience);
  Statement answer = *database.Query("PRAGMA integrity_check");
  return answer.Next().ok() ? answer.Text(0) : "unreadable";
}

ToldRun RunNamed(const std::string& name) {
  Story story;
  TellDeath(story);
  return Taken(story, {.run_id = name});
}

TEST(LedgerCrash, AWriterKilledInTheMiddleOfItsTransactionLeavesWhatWasThereBefore) {
  Scratch scratch;
  const std::string path = scratch.Path("ledger.sqlite");
  ASSERT_TRUE(Ledger::OpenToWrite(path)->Add(std::vector{RunNamed("first")}, kNow).ok());
  const std::string mark = scratch.Path("in-the-middle");
  // So little memory that pages of the open transaction are written to the file itself.
  Child writer([&] {
    Database database = *Database::Open(path, Database::Mode::kWrite, kPatience);
    if (!database.Run("PRAGMA cache_size = 1").ok()) return;
    const Result<Transaction> open = Transaction::Begin(database);
    if (!open.ok()) return;
    for (int i = 0; i < 500; ++i) {
      if (!database.Run("INSERT INTO condition_set(digest) VALUES(?1)", {std::to_string(i) + std::string(500, 'x')})
               .ok()) {
        return;
      }
    }
    std::filesystem::create_directory(mark);
    pause();
  });
  ASSERT_TRUE(triodrill::testing::Eventually(kPatience, [&] { return std::filesystem::exists(mark); }));
  writer.Kill();
  ASSERT_TRUE(std::filesystem::exists(path + "-journal")) << "nothing was left to be taken back";

  const Result<LedgerRows> rows = Ledger::OpenToRead(path)->Read();
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_THAT(rows->runs, SizeIs(1));
  EXPECT_EQ(rows->conditions.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(path + "-journal"));
  Database database = *Database::Open(path, Database::Mode::kRead, kPatience);
  Statement count = *database.Query("SELECT count(*) FROM condition_set");
  ASSERT_TRUE(*count.Next());
  EXPECT_EQ(count.Int(0), 1);
  EXPECT_EQ(Checked(path), "ok");
}

TEST(LedgerCrash, AWriterKilledAtAnyTimeLeavesWholeRuns) {
  Scratch scratch;
  const ToldRun like = RunNamed("x");
  for (size_t rounds = 1; rounds <= 5; ++rounds) {
    const std::string path = scratch.Path("ledger-" + std::to_string(rounds));
    Child writer([&] {
      ToldRun told = like;
      for (int i = 0;; ++i) {
        told.run.run_id = std::to_string(i);
        Result<Ledger> ledger = Ledger::OpenToWrite(path, kPatience);
        if (!ledger.ok() || !ledger->Add(std::vector{told}, kNow).ok()) return;
      }
    });
    const auto enough = [&] {
      Result<Ledger> ledger = Ledger::OpenToRead(path, kPatience);
      if (!ledger.ok()) return false;
      const Result<LedgerRows> rows = ledger->Read();
      return rows.ok() && rows->runs.size() >= rounds;
    };
    ASSERT_TRUE(triodrill::testing::Eventually(kPatience, enough));
    writer.Kill();
    const Result<LedgerRows> rows = Ledger::OpenToRead(path)->Read();
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_GE(rows->runs.size(), rounds);
    for (const RunRow& run : rows->runs) {
      EXPECT_EQ(run.trials, like.run.trials);
      EXPECT_EQ(run.served, like.run.served);
    }
    EXPECT_EQ(Checked(path), "ok");
  }
}

}  // namespace
}  // namespace triodrill::ledger
