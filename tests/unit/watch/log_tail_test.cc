#include "coordinator/watch/log_tail.h"

#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "tests/unit/watch/rig.h"

namespace triodrill::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using LogTailing = TailRig;

TEST_F(LogTailing, BoundsALineByTheLastEmptyQueueAndTheRead) {
  Append(log_, "");
  Follow({log_});
  LookAt(10);
  LookAt(12);
  Append(log_, "hello\n");
  const std::vector<Line> lines = LookAt(14);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].text, "hello");
  EXPECT_EQ(lines[0].path, log_);
  EXPECT_EQ(lines[0].number, 1);
  EXPECT_EQ(lines[0].at, Ms(12, 14));
}

TEST_F(LogTailing, OneEmptyQueueBoundsEveryFile) {
  std::vector<std::string> paths;
  for (int i = 0; i < 50; ++i) paths.push_back(directory_ / ("n" + std::to_string(i)));
  for (const std::string& path : paths) Append(path, "");
  Follow(paths);
  LookAt(10);
  Append(paths[7], "busy\n");
  LookAt(20);
  Append(paths[31], "first words in an age\n");
  const std::vector<Line> lines = LookAt(22);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].at, Ms(20, 22));
}

TEST_F(LogTailing, BoundsAPartialLineByItsLastBytes) {
  Writer writer(log_);
  Follow({log_});
  LookAt(10);
  writer.Write("step");
  EXPECT_THAT(LookAt(12), IsEmpty());
  EXPECT_THAT(LookAt(20), IsEmpty());
  writer.Write(" 7\n");
  const std::vector<Line> lines = LookAt(22);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].text, "step 7");
  EXPECT_EQ(lines[0].at, Ms(20, 22));
}

TEST_F(LogTailing, FollowsAFileThatDoesNotExistYet) {
  Follow({log_});
  EXPECT_THAT(LookAt(10), IsEmpty());
  Append(log_, "born\n");
  const std::vector<Line> lines = LookAt(12);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].at, Ms(10, 12));
}

TEST_F(LogTailing, FollowsAFileWhoseDirectoryDoesNotExistYet) {
  const std::string deep = directory_ / "run/7/n0.err";
  Follow({deep});
  LookAt(10);
  LookAt(12);
  std::filesystem::create_directories(directory_ / "run/7");
  Append(deep, "born\n");
  const std::vector<Line> lines = LookAt(14);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].at, Ms(12, 14));
  Append(deep, "grown\n");
  const std::vector<Line> more = LookAt(16);
  ASSERT_THAT(more, SizeIs(1));
  EXPECT_EQ(more[0].at, Ms(14, 16));
}

TEST_F(LogTailing, FollowsADirectoryThatWasRemovedAndMadeAnew) {
  const std::string deep = directory_ / "run/n0.err";
  std::filesystem::create_directory(directory_ / "run");
  Append(deep, "one\n");
  Follow({deep});
  EXPECT_THAT(Texts(LookAt(10)), ElementsAre("one"));
  std::filesystem::remove_all(directory_ / "run");
  LookAt(12);
  std::filesystem::create_directory(directory_ / "run");
  Append(deep, "two\n");
  const std::vector<Line> lines = LookAt(14);
  ASSERT_THAT(Texts(lines), ElementsAre("two"));
  EXPECT_EQ(lines[0].at, Ms(12, 14));
}

TEST_F(LogTailing, FollowsADirectoryThatWasRenamedAndMadeAnewBetweenTwoLooks) {
  const std::string deep = directory_ / "run/n0.err";
  std::filesystem::create_directory(directory_ / "run");
  Append(deep, "one\n");
  Follow({deep});
  LookAt(10);
  std::filesystem::rename(directory_ / "run", directory_ / "old");
  std::filesystem::create_directory(directory_ / "run");
  Append(deep, "two\n");
  const std::vector<Line> lines = LookAt(12);
  ASSERT_THAT(Texts(lines), ElementsAre("two"));
  EXPECT_EQ(lines[0].at, Ms(10, 12));
}

TEST_F(LogTailing, ReadsWhatWasThereFromTheStartWithNoLowerBound) {
  Append(log_, "old\n");
  Follow({log_});
  const std::vector<Line> lines = LookAt(10);
  ASSERT_THAT(Texts(lines), ElementsAre("old"));
  EXPECT_EQ(lines[0].at, Ms(0, 10));
  Append(log_, "new\n");
  EXPECT_EQ(LookAt(12).at(0).at, Ms(10, 12));
}

TEST_F(LogTailing, StartsAtTheEndWhenAskedTo) {
  Append(log_, "old\nolder half");
  Follow({log_}, {.from_start = false});
  Append(log_, " of a line\nnew\n");
  const std::vector<Line> lines = LookAt(10);
  ASSERT_THAT(Texts(lines), ElementsAre("new"));
  EXPECT_EQ(lines[0].offset, 25);
  EXPECT_EQ(lines[0].at, Ms(1, 10));
}

TEST_F(LogTailing, StartsAtTheEndOnlyOfWhatWasThere) {
  Follow({log_}, {.from_start = false});
  Append(log_, "all\nof it\n");
  EXPECT_THAT(Texts(LookAt(10)), ElementsAre("all", "of it"));
}

TEST_F(LogTailing, FollowsARotationByRenameAndCreate) {
  Writer writer(log_);
  Follow({log_});
  writer.Write("one\n");
  EXPECT_THAT(Texts(LookAt(10)), ElementsAre("one"));
  std::filesystem::rename(log_, log_ + ".1");
  writer.Write("still to the old file\n");
  Append(log_, "to the new\n");
  const std::vector<Line> lines = LookAt(12);
  EXPECT_THAT(Texts(lines), ElementsAre("still to the old file", "to the new"));
  EXPECT_EQ(lines[1].number, 1);
  EXPECT_EQ(lines[1].at, Ms(10, 12));
  EXPECT_EQ(tail_->Health().switches, 1);
}

TEST_F(LogTailing, ReadsARotatedFileUntilTheNewOneHasBytes) {
  Writer writer(log_);
  Follow({log_});
  std::filesystem::rename(log_, log_ + ".1");
  Append(log_, "");
  LookAt(10);
  writer.Write("the writer has not let go\n");
  EXPECT_THAT(Texts(LookAt(12)), ElementsAre("the writer has not let go"));
  Append(log_, "now it has\n");
  EXPECT_THAT(Texts(LookAt(14)), ElementsAre("now it has"));
  EXPECT_EQ(tail_->Health().switches, 1);
}

TEST_F(LogTailing, HandsOnLastWordsWithoutANewlineWhenTheFileIsReplaced) {
  Writer writer(log_);
  Follow({log_});
  LookAt(10);
  writer.Write("last words");
  EXPECT_THAT(LookAt(12), IsEmpty());
  std::filesystem::rename(log_, log_ + ".1");
  Append(log_, "new\n");
  const std::vector<Line> lines = LookAt(14);
  ASSERT_THAT(Texts(lines), ElementsAre("last words", "new"));
  EXPECT_EQ(lines[0].at, Ms(10, 12));
  EXPECT_EQ(lines[1].at, Ms(12, 14));
}

TEST_F(LogTailing, FollowsATruncatedFileFromItsStart) {
  Writer writer(log_);
  Follow({log_});
  writer.Write("one\ntwo\n");
  LookAt(10);
  ASSERT_EQ(ftruncate(writer.fd(), 0), 0);
  writer.Write("3\n");
  const std::vector<Line> lines = LookAt(12);
  ASSERT_THAT(Texts(lines), ElementsAre("3"));
  EXPECT_EQ(lines[0].number, 1);
  EXPECT_EQ(lines[0].at, Ms(10, 12));
  EXPECT_EQ(tail_->Health().truncations, 1);
}

TEST_F(LogTailing, SeesATruncationThatHasGrownPastTheOffsetAgain) {
  Writer writer(log_);
  Follow({log_});
  writer.Write("step 1\nstep 2\n");
  LookAt(10);
  ASSERT_EQ(ftruncate(writer.fd(), 0), 0);
  writer.Write("step 3\nstep 4\nstep 5\nstep 6\n");
  EXPECT_THAT(Texts(LookAt(12)), ElementsAre("step 3", "step 4", "step 5", "step 6"));
  EXPECT_EQ(tail_->Health().truncations, 1);
}

TEST_F(LogTailing, PassesOverTheHoleOfAWriterThatDoesNotAppend) {
  Writer writer(log_, 0);
  Follow({log_});
  writer.Write(std::string(300'000, 'x') + "\n");
  LookAt(10);
  ASSERT_EQ(ftruncate(writer.fd(), 0), 0);
  writer.Write("after the hole\n");
  EXPECT_THAT(Texts(LookAt(12)), ElementsAre("after the hole"));
}

TEST_F(LogTailing, KeepsToADeletedFileUntilAnotherComes) {
  Writer writer(log_);
  Follow({log_});
  LookAt(10);
  std::filesystem::remove(log_);
  writer.Write("from beyond\n");
  EXPECT_THAT(Texts(LookAt(12)), ElementsAre("from beyond"));
  Append(log_, "reborn\n");
  const std::vector<Line> lines = LookAt(14);
  ASSERT_THAT(Texts(lines), ElementsAre("reborn"));
  EXPECT_EQ(lines[0].at, Ms(12, 14));
}

TEST_F(LogTailing, FollowsALinkThatIsTurnedToAnotherFile) {
  Append(directory_ / "a", "from a\n");
  Append(directory_ / "b", "from b\n");
  std::filesystem::create_symlink(directory_ / "a", log_);
  Follow({log_});
  EXPECT_THAT(Texts(LookAt(10)), ElementsAre("from a"));
  std::filesystem::create_symlink(directory_ / "b", directory_ / "turned");
  std::filesystem::rename(directory_ / "turned", log_);
  EXPECT_THAT(Texts(LookAt(12)), ElementsAre("from b"));
}

TEST_F(LogTailing, TellsTwoPathsOfOneFileApart) {
  Append(log_, "");
  std::filesystem::create_hard_link(log_, directory_ / "same");
  Follow({log_, directory_ / "same"});
  LookAt(10);
  Append(log_, "both\n");
  const std::vector<Line> lines = LookAt(12);
  ASSERT_THAT(Texts(lines), ElementsAre("both", "both"));
  EXPECT_NE(lines[0].path, lines[1].path);
}

TEST_F(LogTailing, FollowsAPathThatIsGivenTwiceOnce) {
  Follow({log_, log_});
  Append(log_, "once\n");
  EXPECT_THAT(Texts(LookAt(10)), ElementsAre("once"));
}

TEST_F(LogTailing, LeavesABacklogToTheNextLookAndKeepsItsBound) {
  Append(log_, "");
  Follow({log_}, {.bytes_per_look = 100'000});
  LookAt(10);
  for (int i = 0; i < 200; ++i) Append(log_, std::string(999, 'x') + "\n");
  const size_t first = LookAt(12).size();
  EXPECT_LT(first, 200u);
  EXPECT_EQ(tail_->CaughtUpTo(), Ms(10, 0).earliest);
  const std::vector<Line> rest = LookAt(14);
  ASSERT_EQ(first + rest.size(), 200u);
  EXPECT_EQ(rest[0].at, Ms(10, 14));
  EXPECT_EQ(tail_->CaughtUpTo(), Ms(14, 0).earliest);
}

TEST_F(LogTailing, SaysUpToWhenItKnows) {
  Append(log_, "");
  Follow({log_});
  LookAt(10);
  EXPECT_EQ(tail_->CaughtUpTo(), Ms(10, 0).earliest);
  LookAt(12);
  EXPECT_EQ(tail_->CaughtUpTo(), Ms(12, 0).earliest);
}

TEST_F(LogTailing, WaitsForNoFifo) {
  ASSERT_EQ(mkfifo(log_.c_str(), 0600), 0);
  Follow({log_});
  EXPECT_THAT(LookAt(10), IsEmpty());
  ASSERT_THAT(tail_->Health().problems, SizeIs(1));
  EXPECT_THAT(tail_->Health().problems[0], testing::HasSubstr("not a regular file"));
}

TEST_F(LogTailing, SaysWhatItMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Append(log_, "secret\n");
  ASSERT_EQ(chmod(log_.c_str(), 0), 0);
  Follow({log_});
  LookAt(10);
  ASSERT_THAT(tail_->Health().problems, SizeIs(1));
  EXPECT_THAT(tail_->Health().problems[0], testing::HasSubstr(log_));
}

TEST_F(LogTailing, RefusesARelativePath) {
  const auto tail = LogTail::Open({"n0.err"}, {}, clock_);
  ASSERT_FALSE(tail.ok());
  EXPECT_THAT(std::string(tail.status().message()), testing::HasSubstr("n0.err"));
}

TEST_F(LogTailing, ChangesNothingInTheDirectory) {
  Append(log_, "one\n");
  Follow({log_, directory_ / "absent"});
  LookAt(10);
  tail_.reset();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("n0.err"));
  EXPECT_EQ(std::filesystem::file_size(log_), 4u);
}

// As on a network file system: the watch is taken away behind the follower's back, so that no event comes any more.
void MakeDeaf() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
    if (what.find("inotify") == std::string::npos) continue;
    const int fd = std::stoi(entry.path().filename().string());
    for (int watch = 1; watch < 10; ++watch) inotify_rm_watch(fd, watch);
  }
}

TEST_F(LogTailing, FindsByScanWhatWasNotAnnouncedAndWidensTheInterval) {
  Append(log_, "");
  Follow({log_}, {.scan_every = std::chrono::milliseconds(100)});
  LookAt(10);
  MakeDeaf();
  LookAt(12);
  Append(log_, "unheard\n");
  EXPECT_THAT(LookAt(14), IsEmpty());
  EXPECT_THAT(LookAt(110), IsEmpty()) << "its event may be on its way";
  const std::vector<Line> lines = LookAt(112);
  ASSERT_THAT(Texts(lines), ElementsAre("unheard"));
  EXPECT_LE(lines[0].at.earliest, Ms(12, 0).earliest);
  EXPECT_EQ(tail_->Health().unannounced, 1);
}

TEST_F(LogTailing, BoundsAFileThatIsNotAnnouncedByItsScans) {
  Append(log_, "");
  Follow({log_}, {.scan_every = std::chrono::milliseconds(100)});
  LookAt(10);
  MakeDeaf();
  LookAt(12);
  Append(log_, "unheard\n");
  LookAt(110);
  LookAt(112);
  Append(log_, "once more\n");
  LookAt(160);
  EXPECT_EQ(tail_->CaughtUpTo(), Ms(112, 0).earliest);
  const std::vector<Line> lines = LookAt(212);
  ASSERT_THAT(Texts(lines), ElementsAre("once more"));
  EXPECT_EQ(lines[0].at, Ms(112, 212));
}

// ---- what the interval stands on

TEST_F(LogTailing, AnEventIsQueuedBeforeWriteReturns) {
  Writer writer(log_);
  Follow({log_});
  for (int64_t i = 1; i <= 5000; ++i) {
    writer.Write("x\n");
    ASSERT_THAT(LookAt(i), SizeIs(1)) << "write number " << i << " had returned and its event was not there";
  }
}

TEST_F(LogTailing, FindsEverythingAfterTheQueueOverflowed) {
  int64_t most = 0;
  if (FILE* file = fopen("/proc/sys/fs/inotify/max_queued_events", "re")) {
    if (fscanf(file, "%ld", &most) != 1) most = 0;
    static_cast<void>(fclose(file));
  }
  if (most <= 0 || most > 200'000) GTEST_SKIP() << "the queue holds " << most << " events: too many to overflow here";
  Writer a(directory_ / "a");
  Writer b(directory_ / "b");
  Follow({directory_ / "a", directory_ / "b", log_});
  LookAt(10);
  for (int64_t i = 0; i < most; ++i) {
    a.Write("a\n");
    b.Write("b\n");
  }
  Append(log_, "came to be while events were lost\n");
  size_t found = 0;
  for (int64_t ms = 12; ms < 24; ++ms) {
    for (const Line& line : LookAt(ms)) {
      ++found;
      EXPECT_EQ(line.at.earliest, Ms(10, 0).earliest);
    }
  }
  EXPECT_EQ(found, static_cast<size_t>(2 * most + 1));
  EXPECT_GE(tail_->Health().overflows, 1);
}

}  // namespace
}  // namespace triodrill::watch
