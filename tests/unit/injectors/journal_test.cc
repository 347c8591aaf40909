#include "injectors/journal/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "injectors/journal/file_calls.h"
#include "injectors/journal/record.h"
#include "injectors/journal/record_file.h"
#include "injectors/journal/settle.h"
#include "injectors/os/file.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TemporaryDirectory;

v1::UndoRecord SomeRecord(const std::string& shot, const std::string& resource) {
  v1::UndoRecord record;
  record.set_format(kUndoRecordFormat);
  record.mutable_fault()->set_shot(shot);
  record.mutable_fault()->set_kind("process.pause");
  record.set_resource(resource);
  record.set_by_hand("kill -CONT 4711");
  return record;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  const auto names = ListDirectory(directory);
  return names.ok() ? *names : std::vector<std::string>{"(cannot be listed)"};
}

std::string Message(const Status& status) { return std::string(status.message()); }

TEST(Journal, KeepsARecordUntilItIsDischarged) {
  const TemporaryDirectory directory;
  {
    const auto journal = UndoJournal::Open(directory.path());
    ASSERT_TRUE(journal.ok()) << journal.status();
    ASSERT_TRUE((*journal)->Record(SomeRecord("1.kill.0", "r")).ok());
  }
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok()) << journal.status();
  ASSERT_THAT((*journal)->List(), SizeIs(1));
  ASSERT_TRUE((*journal)->List()[0].record.ok());
  EXPECT_EQ((*journal)->List()[0].record->by_hand(), "kill -CONT 4711");
  ASSERT_TRUE((*journal)->Discharge("1.kill.0").ok());
  EXPECT_THAT((*journal)->List(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound((*journal)->Discharge("1.kill.0")));
  EXPECT_THAT(FilesIn(directory.path()), IsEmpty());
}

v1::Discharged SomeTrace(const std::string& shot, int64_t wall_ns) {
  v1::Discharged trace;
  trace.set_shot(shot);
  trace.set_run_id("r1");
  trace.set_wall_ns(wall_ns);
  trace.set_evidence("0 of 1 thread stopped");
  return trace;
}

TEST(Journal, KeepsTheNewestTracesOfWhatWasDischarged) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  for (size_t i = 0; i < kMostTraces + 3; ++i) {
    ASSERT_TRUE((*journal)->Trace(SomeTrace(Cat("1.a.", i), static_cast<int64_t>(i))).ok());
  }
  const auto traces = ReadTraces(directory.path());
  ASSERT_TRUE(traces.ok()) << traces.status();
  ASSERT_THAT(*traces, SizeIs(kMostTraces));
  EXPECT_EQ(traces->front().shot(), Cat("1.a.", kMostTraces + 2));
  EXPECT_EQ(traces->front().evidence(), "0 of 1 thread stopped");
  EXPECT_EQ(traces->back().shot(), "1.a.3");
  EXPECT_THAT(FilesIn(directory.path()), SizeIs(kMostTraces));
  EXPECT_THAT((*journal)->List(), IsEmpty()) << "a trace is no record";
  ASSERT_TRUE((*journal)->Record(SomeRecord("1.b.0", "r")).ok()) << "and hinders none";
}

TEST(Journal, ATraceBesideItsOpenRecordCountsNothing) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE((*journal)->Record(SomeRecord("1.a.0", "r")).ok());
  ASSERT_TRUE((*journal)->Trace(SomeTrace("1.a.0", 1)).ok());
  EXPECT_THAT(*ReadTraces(directory.path()), IsEmpty());
  ASSERT_TRUE((*journal)->Discharge("1.a.0").ok());
  EXPECT_THAT(*ReadTraces(directory.path()), SizeIs(1));
}

TEST(Journal, ATraceThatIsTornOrOfAnotherShotIsLeftOut) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  for (const char* shot : {"1.a.0", "1.b.0"}) ASSERT_TRUE((*journal)->Trace(SomeTrace(shot, 1)).ok());
  std::filesystem::resize_file(directory.path() + "/1.a.0.gone", 40);
  std::filesystem::rename(directory.path() + "/1.b.0.gone", directory.path() + "/1.c.0.gone");
  EXPECT_THAT(*ReadTraces(directory.path()), IsEmpty());
}

TEST(Journal, IsMadePrivate) {
  const TemporaryDirectory parent;
  const std::string directory = parent.path() + "/undo";
  const auto journal = UndoJournal::Open(directory);
  ASSERT_TRUE(journal.ok()) << journal.status();
  ASSERT_TRUE((*journal)->Record(SomeRecord("a", "r")).ok());
  struct stat seen {};
  ASSERT_EQ(::stat(directory.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((directory + "/a.undo").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600u);
}

TEST(Journal, HasOneOwner) {
  const TemporaryDirectory directory;
  auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok());
  const auto second = UndoJournal::Open(directory.path());
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  journal->reset();
  EXPECT_TRUE(UndoJournal::Open(directory.path()).ok());
}

TEST(Journal, RefusesASecondOpenRecordOfOneResource) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE((*journal)->Record(SomeRecord("a", "link/3")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists((*journal)->Record(SomeRecord("b", "link/3"))));
  EXPECT_TRUE(absl::IsAlreadyExists((*journal)->Record(SomeRecord("a", "link/4"))));
  EXPECT_TRUE((*journal)->Record(SomeRecord("b", "link/4")).ok());
}

TEST(Journal, RefusesARecordOfSeveralResourcesIfOneOfThemIsTaken) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  v1::UndoRecord node = SomeRecord("a", "node/1");
  node.add_further_resources("link/3");
  node.add_further_resources("link/4");
  ASSERT_TRUE((*journal)->Record(SomeRecord("b", "link/4")).ok());
  const Status refused = (*journal)->Record(node);
  EXPECT_TRUE(absl::IsAlreadyExists(refused));
  EXPECT_THAT(Message(refused), HasSubstr("shot b is open on link/4"));
  ASSERT_TRUE((*journal)->Discharge("b").ok());
  ASSERT_TRUE((*journal)->Record(node).ok());
  EXPECT_TRUE(absl::IsAlreadyExists((*journal)->Record(SomeRecord("c", "link/3"))));
  v1::UndoRecord other = SomeRecord("d", "node/2");
  other.add_further_resources("link/4");
  EXPECT_TRUE(absl::IsAlreadyExists((*journal)->Record(other)));
  EXPECT_TRUE((*journal)->Record(SomeRecord("e", "link/5")).ok());
}

TEST(Journal, TakesNoShotThatIsNotAPlainFileName) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  for (const char* shot : {"", ".hidden", "../up", "a/b", "a b", "a\n", "ä"}) {
    EXPECT_TRUE(absl::IsInvalidArgument((*journal)->Record(SomeRecord(shot, "r")))) << shot;
  }
  EXPECT_TRUE(absl::IsInvalidArgument((*journal)->Record(SomeRecord(std::string(129, 'a'), "r"))));
  EXPECT_THAT(FilesIn(directory.path()), IsEmpty());
}

TEST(Journal, ArmsNothingBesideARecordThatCannotBeRead) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/torn.undo") << "TDUNDO";
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok()) << journal.status();
  const Status recorded = (*journal)->Record(SomeRecord("a", "r"));
  EXPECT_TRUE(absl::IsFailedPrecondition(recorded)) << recorded;
  EXPECT_THAT(Message(recorded), HasSubstr("torn.undo"));
  ASSERT_THAT((*journal)->List(), SizeIs(1));
  EXPECT_FALSE((*journal)->List()[0].record.ok());
}

TEST(Journal, ForgetsAFileThatWasNeverRenamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/.a.tmp") << "half";
  ASSERT_TRUE(UndoJournal::Open(directory.path()).ok());
  EXPECT_THAT(FilesIn(directory.path()), IsEmpty());
}

TEST(Journal, TakesARenamedFileForAltered) {
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE((*journal)->Record(SomeRecord("a", "r")).ok());
  std::filesystem::rename(directory.path() + "/a.undo", directory.path() + "/b.undo");
  ASSERT_THAT((*journal)->List(), SizeIs(1));
  EXPECT_FALSE((*journal)->List()[0].record.ok());
}

TEST(RecordFile, IsUnreadableOnceAnyByteIsChangedOrMissing) {
  const auto bytes = EncodeRecordFile(SomeRecord("a", "r"));
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(DecodeRecordFile(*bytes).ok());
  for (size_t i = 0; i < bytes->size(); ++i) {
    EXPECT_FALSE(DecodeRecordFile(bytes->substr(0, i)).ok()) << "cut at " << i;
    for (const int bit : {0x01, 0x80}) {
      std::string altered = *bytes;
      altered[i] = static_cast<char>(altered[i] ^ bit);
      EXPECT_FALSE(DecodeRecordFile(altered).ok()) << "byte " << i;
    }
  }
  EXPECT_FALSE(DecodeRecordFile(*bytes + "x").ok());
}

TEST(RecordFile, IsNotWrittenIfItCouldNotBeReadBack) {
  v1::UndoRecord record = SomeRecord("a", "r");
  record.set_by_hand("ip link set \xff up");  // the kernel lets an interface be named so; no reader of messages does
  EXPECT_THAT(Message(EncodeRecordFile(record).status()), HasSubstr("could not be read back"));
  record = SomeRecord("../a", "r");
  EXPECT_FALSE(EncodeRecordFile(record).ok());
  record = SomeRecord("a", "r");
  record.set_format(kUndoRecordFormat + 1);
  EXPECT_FALSE(EncodeRecordFile(record).ok());

  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path());
  record = SomeRecord("a", "r\xff");
  EXPECT_FALSE((*journal)->Record(record).ok());
  EXPECT_THAT((*journal)->List(), IsEmpty());
}

// One system call that fails, at its n-th use.
struct Failure {
  const char* call;
  int nth;
  int error;
  bool poisons;       // nothing more may be recorded
  bool record_stays;  // harmless: nothing was applied under it
};

FileCalls Failing(const Failure& failure, const std::shared_ptr<int>& uses) {
  FileCalls calls = SystemFileCalls();
  const auto fails = [failure, uses] {
    if (++*uses != failure.nth) return false;
    errno = failure.error;
    return true;
  };
  const std::string_view call = failure.call;
  if (call == "open") {
    calls.open = [fails, real = calls.open](int d, const char* n, int f, mode_t m) {
      return fails() ? -1 : real(d, n, f, m);
    };
  } else if (call == "write") {
    calls.write = [fails, real = calls.write](int fd, const void* b, size_t s) {
      return fails() ? -1 : real(fd, b, s);
    };
  } else if (call == "short write") {
    calls.write = [fails, real = calls.write](int fd, const void* b, size_t s) {
      return fails() ? real(fd, b, s / 2) : (errno = ENOSPC, -1);
    };
  } else if (call == "sync") {
    calls.sync = [fails, real = calls.sync](int fd) { return fails() ? -1 : real(fd); };
  } else if (call == "rename") {
    calls.rename = [fails, real = calls.rename](int d, const char* f, const char* t) {
      return fails() ? -1 : real(d, f, t);
    };
  }
  return calls;
}

class JournalTrouble : public ::testing::TestWithParam<Failure> {};

TEST_P(JournalTrouble, ArmsNothingAndSaysSo) {
  const Failure& failure = GetParam();
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path(), Failing(failure, std::make_shared<int>(0)));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const Status recorded = (*journal)->Record(SomeRecord("a", "r"));
  EXPECT_FALSE(recorded.ok());
  EXPECT_THAT(Message(recorded), HasSubstr(directory.path()));
  EXPECT_THAT(FilesIn(directory.path()), SizeIs(failure.record_stays ? 1 : 0)) << "nothing half-made is left";
  const Status next = (*journal)->Record(SomeRecord("b", "s"));
  if (failure.poisons) {
    EXPECT_TRUE(absl::IsFailedPrecondition(next)) << next;
    EXPECT_THAT(Message(next), HasSubstr("start the agent anew"));
  } else if (std::string_view(failure.call) != "short write") {
    EXPECT_TRUE(next.ok()) << next;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EachCall, JournalTrouble,
    ::testing::Values(Failure{"open", 1, ENOSPC, false, false}, Failure{"open", 1, EACCES, false, false},
                      Failure{"write", 1, ENOSPC, false, false}, Failure{"write", 1, EIO, false, false},
                      Failure{"short write", 1, 0, false, false}, Failure{"sync", 1, EIO, true, false},
                      Failure{"sync", 2, EIO, true, false}, Failure{"rename", 1, EIO, false, false}),
    [](const auto& trouble) {
      std::string name = trouble.param.call;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name + std::to_string(trouble.param.nth) + "_" + std::to_string(trouble.param.error);
    });

TEST(Journal, WritesOnAfterShortWrites) {
  FileCalls calls = SystemFileCalls();
  calls.write = [](int fd, const void* bytes, size_t) { return ::write(fd, bytes, 1); };
  const TemporaryDirectory directory;
  const auto journal = UndoJournal::Open(directory.path(), calls);
  ASSERT_TRUE((*journal)->Record(SomeRecord("a", "r")).ok());
  EXPECT_TRUE((*journal)->List()[0].record.ok());
}

TEST(Debt, OfAFaultThatIsTakenBackIsPaidOnceItIsAbsent) {
  EXPECT_EQ(DebtAfter(v1::RESTORE, Presence::kAbsent), Debt::kNone);
  EXPECT_EQ(DebtAfter(v1::RESTORE, Presence::kPresent), Debt::kOwed);
  EXPECT_EQ(DebtAfter(v1::RESTORE, Presence::kForeign), Debt::kForeign);
  EXPECT_EQ(DebtAfter(v1::REVERSAL_UNSPECIFIED, Presence::kPresent), Debt::kOwed);
}

TEST(Debt, OfAFaultThatCannotBeTakenBackIsPaidByAnyLook) {
  EXPECT_EQ(DebtAfter(v1::NONE, Presence::kPresent), Debt::kNone);
  EXPECT_EQ(DebtAfter(v1::NONE, Presence::kAbsent), Debt::kNone);
}

class Scripted final : public Injector {
 public:
  Scripted(Status reverted, Result<Effect> seen) : reverted_(std::move(reverted)), seen_(std::move(seen)) {}
  Result<v1::UndoRecord> Prepare(const v1::AimedFault&) override { return absl::UnimplementedError(""); }
  Status Apply(const v1::UndoRecord&) override { return absl::UnimplementedError(""); }
  Status Revert(const v1::UndoRecord&) override { return reverted_; }
  Result<Effect> Inspect(const v1::UndoRecord&) override { return seen_; }

 private:
  Status reverted_;
  Result<Effect> seen_;
};

TEST(Settle, NeverTakesALookThatFailedForAbsence) {
  Scripted blind(Ok(), absl::PermissionDeniedError("cannot look"));
  const Settled settled = Settle(blind, SomeRecord("a", "r"));
  EXPECT_EQ(settled.debt, Debt::kOwed);
  EXPECT_EQ(settled.problem, "inspect: cannot look");
}

TEST(Settle, NeverTakesAFailedRevertForDone) {
  Scripted failing(absl::InternalError("half way"), Effect{Presence::kAbsent, "looks fine"});
  const Settled settled = Settle(failing, SomeRecord("a", "r"));
  EXPECT_EQ(settled.debt, Debt::kOwed);
  EXPECT_EQ(settled.problem, "revert: half way");
}

TEST(Settle, SaysThatTheEffectIsStillThere) {
  Scripted stuck(Ok(), Effect{Presence::kPresent, "1 of 1 thread stopped"});
  EXPECT_EQ(Settle(stuck, SomeRecord("a", "r")).problem, "still there after the revert: 1 of 1 thread stopped");
}

TEST(Settle, LeavesWhatSomebodyElseChanged) {
  Scripted foreign(Ok(), Effect{Presence::kForeign, "another quota"});
  const Settled settled = Settle(foreign, SomeRecord("a", "r"));
  EXPECT_EQ(settled.debt, Debt::kForeign);
  EXPECT_THAT(settled.problem, HasSubstr("another quota"));
}

}  // namespace
}  // namespace triodrill
