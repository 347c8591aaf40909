#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "injectors/os/file.h"
#include "injectors/storage/flip.h"
#include "injectors/storage/stale_latest.h"
#include "injectors/storage/swap.h"
#include "injectors/storage/torn_write.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/training.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;
namespace fs = std::filesystem;

std::string Message(const Status& status) { return std::string(status.message()); }

// Three steps of two shards each, the newest last.
class Storage : public ::testing::Test {
 protected:
  Storage() : Storage("storage.flip", MakeStorageFlip()) {}
  Storage(std::string kind, std::unique_ptr<Injector> injector)
      : kind_(std::move(kind)), injector_(std::move(injector)) {
    for (const int step : {10, 20, 30}) {
      fs::create_directories(Step(step));
      for (const int shard : {0, 1}) {
        const std::string path = Shard(step, shard);
        Write(path, Content(step, shard));
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(100 - step));
      }
    }
  }
  std::string Step(int step) const { return Cat(root_.path(), "/checkpoint/step-000000", step); }
  std::string Shard(int step, int shard) const { return Cat(Step(step), "/shard-", shard, ".ckpt"); }
  static std::string Content(int step, int shard) { return std::string(1000, static_cast<char>('a' + step + shard)); }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const std::string& path) { return ReadFile(path).value_or("<none>"); }
  static std::vector<std::string> Names(const std::string& directory) {
    std::vector<std::string> names = ListDirectory(directory).value_or(std::vector<std::string>{"<none>"});
    std::sort(names.begin(), names.end());
    return names;
  }
  static uint64_t Inode(const std::string& path) {
    struct stat seen {};
    return ::stat(path.c_str(), &seen) == 0 ? seen.st_ino : 0;
  }

  v1::AimedFault Fault() { return Aim(kind_, child_.identity()); }
  v1::UndoRecord Prepared() {
    const auto record = injector_->Prepare(Fault());
    EXPECT_TRUE(record.ok()) << record.status();
    return record.value_or(v1::UndoRecord());
  }
  v1::UndoRecord Applied() {
    v1::UndoRecord record = Prepared();
    const Status applied = injector_->Apply(record);
    EXPECT_TRUE(applied.ok()) << applied;
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent) << injector_->Inspect(record)->evidence;
    return record;
  }
  void ExpectClean(const v1::UndoRecord& record) {
    for (int again = 0; again < 2; ++again) {
      const Status reverted = injector_->Revert(record);
      EXPECT_TRUE(reverted.ok()) << reverted;
      EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    }
    for (const auto& entry : fs::recursive_directory_iterator(root_.path())) {
      EXPECT_EQ(entry.path().string().find(".triodrill"), std::string::npos) << entry.path();
    }
  }

  const TemporaryDirectory root_;
  const Child child_ = testing::Training(false, root_.path());
  const std::string kind_;
  const std::unique_ptr<Injector> injector_;
};

class TornWrite : public Storage {
 protected:
  TornWrite() : Storage("storage.torn_write", MakeStorageTornWrite()) {}
};

class StaleLatest : public Storage {
 protected:
  StaleLatest() : Storage("storage.stale_latest", MakeStorageStaleLatest()) { Write(Latest(), "30\n"); }
  std::string Latest() const { return root_.path() + "/checkpoint/latest"; }
};

TEST_F(Storage, DamagesTheNewestFileAndPutsTheOriginalItselfBack) {
  const uint64_t inode = Inode(Shard(30, 0));
  struct stat before {};
  ASSERT_EQ(::stat(Shard(30, 0).c_str(), &before), 0);
  const v1::UndoRecord record = Applied();
  std::string expected = Content(30, 0);
  expected[500] = static_cast<char>(expected[500] ^ 1);
  EXPECT_EQ(Read(Shard(30, 0)), expected);
  EXPECT_EQ(Read(Shard(20, 0)), Content(20, 0));
  EXPECT_EQ(Read(Shard(30, 1)), Content(30, 1));
  struct stat now {};
  ASSERT_EQ(::stat(Shard(30, 0).c_str(), &now), 0);
  EXPECT_EQ(now.st_mtim.tv_sec, before.st_mtim.tv_sec) << "nothing but its bytes tells that it is another file";
  EXPECT_EQ(now.st_mode, before.st_mode);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("differs from its original"));
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
  EXPECT_EQ(Inode(Shard(30, 0)), inode);
}

TEST_F(Storage, ChoosesTheFileWhenItIsApplied) {
  const v1::UndoRecord record = Prepared();
  fs::create_directories(Step(40));
  Write(Shard(40, 0), Content(40, 0));
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_NE(Read(Shard(40, 0)), Content(40, 0));
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
  ExpectClean(record);
}

TEST_F(Storage, LeavesWhatTheJobWroteSince) {
  const v1::UndoRecord record = Applied();
  Write(Shard(30, 0) + ".tmp", "new");
  fs::rename(Shard(30, 0) + ".tmp", Shard(30, 0));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), "new");
}

TEST_F(Storage, DoesNotBringBackAFileThatTheJobRemoved) {
  const v1::UndoRecord record = Applied();
  fs::remove(Shard(30, 0));
  ExpectClean(record);
  EXPECT_THAT(Names(Step(30)), ElementsAre("shard-1.ckpt"));
}

TEST_F(Storage, GivesTheOriginalItsNameIfTheJobPutTheCopyAside) {
  const v1::UndoRecord record = Applied();
  fs::rename(Shard(30, 0), Step(30) + "/corrupt");
  ExpectClean(record);
  EXPECT_THAT(Names(Step(30)), ElementsAre("corrupt", "shard-0.ckpt", "shard-1.ckpt"));
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
}

TEST_F(Storage, FindsItsFilesInAFolderThatWasRenamed) {
  const v1::UndoRecord record = Applied();
  fs::rename(Step(30), Step(30) + ".bad");
  ExpectClean(record);
  EXPECT_EQ(Read(Step(30) + ".bad/shard-0.ckpt"), Content(30, 0));
}

TEST_F(Storage, OwesNothingOnceTheFolderOrTheDirectoryIsGone) {
  const v1::UndoRecord record = Applied();
  fs::remove_all(Step(30));
  ExpectClean(record);
  fs::remove_all(root_.path() + "/checkpoint");
  ExpectClean(record);
  fs::create_directory(root_.path() + "/checkpoint");
  ExpectClean(record);
}

TEST_F(Storage, IsUndoneAfterTheTargetEndedAndAfterAReboot) {
  v1::UndoRecord record = Applied();
  child_.Kill();
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
}

TEST_F(Storage, LeavesAPairThatSomebodyTookApartToAPerson) {
  const v1::UndoRecord record = Applied();
  fs::remove(Cat(Step(30), "/.triodrill-", record.storage().token(), ".copy.shard-0.ckpt"));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  EXPECT_THAT(Message(injector_->Revert(record)), HasSubstr("compare them by hand"));
}

TEST_F(Storage, RefusesAWayOutAndASymbolicLink) {
  v1::AimedFault fault = Fault();
  auto& with = *fault.mutable_with()->mutable_storage_flip();
  fs::create_symlink("/etc", root_.path() + "/link");
  for (const char* directory : {"..", "/etc", "checkpoint/../..", "link", "missing"}) {
    with.set_directory(directory);
    EXPECT_FALSE(injector_->Prepare(fault).ok()) << directory;
  }
  with.set_directory("checkpoint");
  fs::remove_all(Step(30));
  fs::create_symlink("/etc", Step(30));
  fs::create_symlink("/etc/passwd", Step(20) + "/shard-9.ckpt");
  with.set_files("step-*/*");
  const auto record = injector_->Prepare(fault);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_TRUE(injector_->Apply(*record).ok());
  EXPECT_NE(Read(Shard(20, 1)), Content(20, 1)) << "the newest plain file in a plain folder";
  ExpectClean(*record);
}

TEST_F(Storage, SaysThatNothingMatchesOrThatItIsEmpty) {
  v1::UndoRecord record = Prepared();
  auto& with = *record.mutable_fault()->mutable_with()->mutable_storage_flip();
  with.set_files("step-*/rank-*");
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("matches step-*/rank-*"));
  Write(Step(30) + "/empty", "");
  with.set_files("step-*/empty");
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("it is empty"));
  ExpectClean(record);
}

TEST_F(TornWrite, CutsTheNewestFileShortAndPutsItBack) {
  const uint64_t inode = Inode(Shard(30, 0));
  const v1::UndoRecord record = Applied();
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0).substr(0, 500));
  EXPECT_EQ(Read(Shard(30, 1)), Content(30, 1));
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("500 bytes, not 1000"));
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
  EXPECT_EQ(Inode(Shard(30, 0)), inode);
}

TEST_F(TornWrite, LeavesZerosFromAWholePageOn) {
  const std::string content(10'000, 'x');
  Write(Shard(30, 0), content);
  v1::UndoRecord record = Prepared();
  record.mutable_fault()->mutable_with()->mutable_storage_torn_write()->set_zeros(true);
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_EQ(Read(Shard(30, 0)), std::string(4096, 'x') + std::string(10'000 - 4096, '\0'));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("at byte 4096"));
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), content);
}

TEST_F(TornWrite, RefusesZerosOverZerosAndAWholeFile) {
  Write(Shard(30, 0), std::string(10'000, '\0'));
  v1::UndoRecord record = Prepared();
  auto& with = *record.mutable_fault()->mutable_with()->mutable_storage_torn_write();
  with.set_zeros(true);
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("reads as zeros there already"));
  ExpectClean(record);
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_storage_torn_write()->set_keep(1);
  EXPECT_FALSE(injector_->Prepare(fault).ok());
}

TEST_F(TornWrite, IsUndoneAfterTheTargetEndedAndAfterAReboot) {
  v1::UndoRecord record = Applied();
  child_.Kill();
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  ExpectClean(record);
  EXPECT_EQ(Read(Shard(30, 0)), Content(30, 0));
}

TEST_F(StaleLatest, NamesTheCheckpointBeforeAndIsPutBack) {
  const uint64_t inode = Inode(Latest());
  const v1::UndoRecord record = Applied();
  EXPECT_EQ(Read(Latest()), "20\n");
  ExpectClean(record);
  EXPECT_EQ(Read(Latest()), "30\n");
  EXPECT_EQ(Inode(Latest()), inode);
}

TEST_F(StaleLatest, LeavesWhatTheJobWroteSince) {
  const v1::UndoRecord record = Applied();
  Write(Latest() + ".new", "40\n");
  fs::rename(Latest() + ".new", Latest());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ExpectClean(record);
  EXPECT_EQ(Read(Latest()), "40\n");
}

TEST_F(StaleLatest, LeavesWhatTheJobWroteInPlace) {
  const v1::UndoRecord record = Applied();
  Write(Latest(), "40\n");
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("was written since"));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ExpectClean(record);
  EXPECT_EQ(Read(Latest()), "40\n");
}

TEST_F(StaleLatest, SaysThatThereIsNoneOlder) {
  const v1::UndoRecord record = Prepared();
  fs::remove_all(Step(10));
  fs::remove_all(Step(20));
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("older than 30"));
  ExpectClean(record);
  v1::AimedFault fault = Fault();
  for (const char* pattern : {"step", "a*b*", "a/*"}) {
    fault.mutable_with()->mutable_storage_stale_latest()->set_checkpoints(pattern);
    EXPECT_FALSE(injector_->Prepare(fault).ok()) << pattern;
  }
}

TEST(OlderPointer, IsWrittenAsThePointerWas) {
  const std::vector<std::string> steps = {"step-00000009", "step-00000100", "step-00000020", "step-x", "latest"};
  EXPECT_EQ(*OlderPointer("100\n", steps, "step-*"), "20\n");
  EXPECT_EQ(*OlderPointer("20", steps, "step-*"), "9");
  EXPECT_EQ(*OlderPointer("0000020", steps, "step-*"), "0000009");
  EXPECT_EQ(*OlderPointer("step-00000100\n", steps, "step-*"), "step-00000020\n");
  EXPECT_EQ(*OlderPointer("7.pt", {"7.pt", "6.pt"}, "*.pt"), "6.pt");
  for (const char* content : {"9", "", "release", "step-x", "-1"}) {
    EXPECT_FALSE(OlderPointer(content, steps, "step-*").ok()) << content;
  }
}

TEST(RangeOf, OfATornFileReachesItsEnd) {
  EXPECT_EQ(RangeOf({.position = 0.5, .kind = DamageKind::kCut}, 1001).offset, 500);
  EXPECT_EQ(RangeOf({.position = 0.5, .kind = DamageKind::kCut}, 1001).count, 501);
  EXPECT_EQ(RangeOf({.position = 0.5, .kind = DamageKind::kZeros}, 10'000).offset, 4096);
  EXPECT_EQ(RangeOf({.position = 0.5, .kind = DamageKind::kZeros}, 100).count, 100);
}

TEST(RangeOf, LiesWithinTheFile) {
  EXPECT_EQ(RangeOf({0.5, 4, 0}, 100).offset, 50);
  EXPECT_EQ(RangeOf({0.5, 4, 0}, 100).count, 4);
  EXPECT_EQ(RangeOf({1.0, 4, 0}, 100).offset, 99);
  EXPECT_EQ(RangeOf({1.0, 4, 0}, 100).count, 1);
  EXPECT_EQ(RangeOf({0.0, 1000, 0}, 100).count, 100);
}

}  // namespace
}  // namespace triodrill
