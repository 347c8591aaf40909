// What a job sees of a directory that is full or slow.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/storage/gate.h"
#include "injectors/storage/mounts.h"
#include "tests/unit/injectors/covered.h"

namespace triodrill {
namespace {

using testing::Covered;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::WriteFile;
using testing::WriteTo;
using testing::Written;
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

class OverlayJob : public Covered {
 protected:
  static struct stat Seen(const std::string& path) {
    struct stat seen {};
    EXPECT_EQ(::lstat(path.c_str(), &seen), 0) << path;
    return seen;
  }
  static std::string Read(const std::string& path) { return ReadFile(path).value_or("<none>"); }
};

TEST_F(OverlayJob, IsRefusedSpaceOnceSoMuchWasWritten) {
  const v1::UndoRecord record = Applied(Full(10'000));
  EXPECT_EQ(Look(record).presence, Presence::kAbsent) << "nothing was refused yet";
  const Written written = WriteFile(In("new"), 50'000, O_CREAT);
  EXPECT_EQ(written.bytes, 10'000);
  EXPECT_EQ(written.error, ENOSPC);
  EXPECT_EQ(Look(record).presence, Presence::kPresent);
  EXPECT_THAT(Look(record).evidence, HasSubstr("refused for want of space"));
  EXPECT_EQ(WriteFile(In("step-10/other"), 1, O_CREAT).error, ENOSPC) << "in every folder below it";
  struct statvfs space {};
  ASSERT_EQ(::statvfs(In("new").c_str(), &space), 0);
  EXPECT_EQ(space.f_bavail, 0);
  fs::remove(In("new"));
  EXPECT_EQ(WriteFile(In("new"), 1, O_CREAT).error, ENOSPC) << "others took what was removed";
  ExpectUncovered(record);
}

TEST_F(OverlayJob, IsRefusedByItsQuota) {
  const v1::UndoRecord record = Applied(Full(0, true));
  EXPECT_EQ(WriteFile(In("new"), 1, O_CREAT).error, EDQUOT);
  const UniqueFd fd(::open(In("new").c_str(), O_WRONLY));
  EXPECT_EQ(::fallocate(fd.get(), 0, 0, 4096), -1);
  EXPECT_EQ(errno, EDQUOT);
  EXPECT_THAT(Look(record).evidence, HasSubstr("2 writes refused"));
  struct statvfs space {};
  ASSERT_EQ(::statvfs(In("new").c_str(), &space), 0);
  EXPECT_GT(space.f_bfree, 0) << "the disk itself is not full";
}

TEST_F(OverlayJob, ReadsAndRemovesAndRenamesOnAFullDisk) {
  const struct stat before = Seen(In("latest"));
  const v1::UndoRecord record = Applied(Full());
  const struct stat now = Seen(In("latest"));
  EXPECT_EQ(now.st_ino, before.st_ino);
  EXPECT_EQ(now.st_mode, before.st_mode);
  EXPECT_EQ(now.st_size, before.st_size);
  EXPECT_EQ(now.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(Read(In("latest")), "10\n");
  EXPECT_EQ(Read(In("step-10/shard-0.ckpt")), "all that was learnt");

  EXPECT_TRUE(fs::create_directory(In("made")));
  EXPECT_EQ(WriteFile(In("made/empty"), 0, O_CREAT | O_EXCL).error, 0);
  EXPECT_EQ(WriteFile(In("made/empty"), 0, O_CREAT | O_EXCL).error, EEXIST);
  fs::rename(In("made/empty"), In("made/renamed"));
  fs::create_hard_link(In("latest"), In("second"));
  EXPECT_EQ(Seen(In("second")).st_ino, before.st_ino);
  EXPECT_EQ(Seen(In("second")).st_nlink, 2);
  fs::rename(In("made/renamed"), In("second"));
  EXPECT_EQ(Seen(In("second")).st_size, 0) << "a rename over a name replaces it";
  fs::create_symlink("latest", In("link"));
  EXPECT_EQ(fs::read_symlink(In("link")), "latest");
  EXPECT_EQ(Read(In("link")), "10\n");
  fs::permissions(In("second"), fs::perms(0600));
  EXPECT_EQ(Seen(In("second")).st_mode & 07777, 0600);
  fs::resize_file(In("second"), 5'000);
  EXPECT_EQ(Seen(In("second")).st_size, 5'000) << "a hole takes no space";
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(In(""))) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("latest", "link", "made", "second", "step-10"));
  EXPECT_TRUE(fs::remove(In("link")));
  EXPECT_TRUE(fs::remove(In("made")));
  const UniqueFd directory(::open(In("").c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_EQ(::fsync(directory.get()), 0);

  // What must be written fails, and an old file that is to be written anew is empty then, as on any full disk.
  EXPECT_EQ(WriteFile(In("latest"), 3, O_TRUNC).error, ENOSPC);
  EXPECT_EQ(Read(In("latest")), "");
  ExpectUncovered(record);
  EXPECT_EQ(Seen(In("latest")).st_ino, before.st_ino);
  EXPECT_EQ(Read(In("latest")), "");
  EXPECT_EQ(Seen(In("second")).st_size, 5'000);
  EXPECT_FALSE(fs::exists(In("made")));
}

TEST_F(OverlayJob, FindsWhatItWroteThroughItOnceItIsGone) {
  const v1::UndoRecord record = Applied(Slow(Nanos(1)));
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += Cat(i, ",");
  std::ofstream(In("new.tmp")) << text;
  const UniqueFd fd(::open(In("new.tmp").c_str(), O_RDWR | O_APPEND));
  EXPECT_EQ(::write(fd.get(), "end", 3), 3);
  EXPECT_EQ(::fsync(fd.get()), 0);
  fs::rename(In("new.tmp"), In("new"));
  EXPECT_EQ(Read(In("latest")), "10\n");
  ::setxattr(In("new").c_str(), "user.test", "v", 1, 0);
  const uint64_t inode = Seen(In("new")).st_ino;
  EXPECT_EQ(fs::file_size(In("new")), text.size() + 3);
  ExpectUncovered(record);
  std::ifstream stream(In("new"));
  std::string now;
  std::getline(stream, now);
  EXPECT_TRUE(now == text + "end") << now.size() << " bytes, not " << text.size() + 3;
  EXPECT_EQ(Seen(In("new")).st_ino, inode);
}

TEST_F(OverlayJob, OwnsWhatItMakes) {
  fs::permissions(In(""), fs::perms(0777));
  fs::permissions(root_.path(), fs::perms(0755));
  const v1::UndoRecord record = Applied(Full(100));
  testing::Child job([&] {
    if (::setgid(54321) != 0 || ::setuid(12345) != 0) ::_exit(1);
    ::umask(027);
    const int fd = ::open(In("mine").c_str(), O_CREAT | O_WRONLY, 0666);
    if (fd < 0 || ::write(fd, "x", 1) != 1 || ::mkdir(In("own").c_str(), 0777) != 0) ::_exit(2);
    if (::open(In("latest").c_str(), O_WRONLY) >= 0) ::_exit(3);  // another's
    ::_exit(::unlink(In("own/../mine").c_str()) == 0 ? ::open(In("mine").c_str(), O_CREAT | O_WRONLY, 0666) < 0 : 4);
  });
  const int status = job.Reap();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ExpectUncovered(record);
  for (const char* name : {"mine", "own"}) {
    EXPECT_EQ(Seen(In(name)).st_uid, 12345) << name;
    EXPECT_EQ(Seen(In(name)).st_gid, 54321) << name;
  }
  EXPECT_EQ(Seen(In("mine")).st_mode & 07777, 0640);
  EXPECT_EQ(Seen(In("own")).st_mode & 07777, 0750);
}

TEST_F(OverlayJob, HearsOfAFullDiskWhenItSyncsAMapping) {
  ASSERT_EQ(WriteFile(In("mapped"), 8192, O_CREAT).error, 0);
  const v1::UndoRecord record = Applied(Full(100));
  const UniqueFd fd(::open(In("mapped").c_str(), O_RDWR));
  auto* const bytes = static_cast<char*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_NE(bytes, MAP_FAILED);
  EXPECT_EQ(bytes[0], 'x');
  bytes[0] = 'y';
  EXPECT_EQ(::msync(bytes, 8192, MS_SYNC), -1);
  EXPECT_EQ(errno, ENOSPC);
  ::munmap(bytes, 8192);
  EXPECT_EQ(Look(record).presence, Presence::kPresent);
}

TEST_F(OverlayJob, GoesOnWithAFileThatItHoldsOpenWhenTheDiskIsNoLongerFull) {
  const v1::UndoRecord record = Applied(Full());
  UniqueFd fd(::open(In("held").c_str(), O_CREAT | O_RDWR, 0644));
  EXPECT_EQ(WriteTo(fd.get(), 10).error, ENOSPC);
  ExpectUncovered(record);
  EXPECT_THAT(Programs(record), SizeIs(1)) << "the server passes on what is still open through it";
  EXPECT_EQ(WriteTo(fd.get(), 100'000).error, 0);
  EXPECT_EQ(::fsync(fd.get()), 0);
  EXPECT_EQ(fs::file_size(In("held")), 100'000);
  char byte = 0;
  EXPECT_EQ(::pread(fd.get(), &byte, 1, 99'999), 1);
  EXPECT_EQ(byte, 'x');
  fd.Reset();
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); })) << "and ends with the last of it";
}

TEST_F(OverlayJob, IsNotTouchedInWhatItHeldOpenBefore) {
  const v1::UndoRecord record = Prepared(Full());
  const UniqueFd fd(::open(In("held").c_str(), O_CREAT | O_RDWR, 0644));
  ASSERT_TRUE(full_->Apply(record).ok());
  EXPECT_EQ(WriteTo(fd.get(), 100'000).error, 0);
  EXPECT_EQ(fs::file_size(In("held")), 100'000) << "nothing is cached on the way";
  EXPECT_EQ(Look(record).presence, Presence::kAbsent) << "nothing was refused";
  ExpectUncovered(record);
}

TEST_F(OverlayJob, IsHeldOncePerOperationOnASlowDisk) {
  const v1::UndoRecord record = Applied(Slow(milliseconds(2)));
  EXPECT_EQ(Look(record).presence, Presence::kAbsent) << "nothing was held yet";
  fs::create_directory(In("made"));
  EXPECT_EQ(Look(record).presence, Presence::kAbsent) << "names are not held";
  const UniqueFd fd(::open(In("new").c_str(), O_CREAT | O_WRONLY, 0644));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(::write(fd.get(), "x", 1), 1);
  EXPECT_EQ(::fsync(fd.get()), 0);
  EXPECT_EQ(Look(record).presence, Presence::kPresent);
  EXPECT_THAT(Look(record).evidence, HasSubstr("6 operations held"));
  ExpectUncovered(record);
}

TEST_F(OverlayJob, IsLetGoAtOnceByTheUndo) {
  const v1::UndoRecord record = Applied(Slow(seconds(60), 1));  // longer than this test may take
  std::thread writer([&] { EXPECT_EQ(WriteFile(In("new"), 1'000'000, O_CREAT).error, 0); });
  EXPECT_TRUE(Eventually([&] { return Look(record).presence == Presence::kPresent; }));
  ExpectUncovered(record);
  writer.join();
  EXPECT_EQ(fs::file_size(In("new")), 1'000'000);
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
}

TEST(Allowance, IsUsedUpInPartsOrNotAtAll) {
  Allowance allowance(100);
  EXPECT_EQ(allowance.Take(60, false), 60);
  EXPECT_EQ(allowance.Take(60, true), 0);
  EXPECT_EQ(allowance.Take(60, false), 40);
  EXPECT_EQ(allowance.Take(1, false), 0);
  EXPECT_EQ(allowance.Take(0, true), 0);
  allowance.GiveBack(10);
  EXPECT_EQ(allowance.Take(10, true), 10);
}

TEST(Pace, LetsNoMoreThroughThanItsRate) {
  Pace pace(Nanos(0), 1'000'000);
  Nanos now = seconds(100);
  Nanos last{0};
  int64_t through = 0;
  // Several at a time, of all sizes, and pauses between: by the time each is through, no more than the rate allows
  // since the beginning.
  for (int i = 1; i <= 300; ++i) {
    const int64_t bytes = i * 37 % 1009 * 100;
    last = std::max(last, now + pace.Hold(now, bytes));
    through += bytes;
    EXPECT_GE((last - seconds(100)).count(), through * 1000) << i;
    if (i % 7 == 0) now += milliseconds(i % 5 * 50);
  }
  EXPECT_EQ(Pace(Nanos(0), 1000).Hold(now, 500), milliseconds(500));
}

TEST(Pace, HoldsEachOperationForItsDelayAndSeveralAtOnce) {
  Pace pace(milliseconds(50), 0);
  EXPECT_EQ(pace.Hold(seconds(1), 1 << 20), milliseconds(50));
  EXPECT_EQ(pace.Hold(seconds(1), 0), milliseconds(50));
  Pace both(milliseconds(50), 1000);
  EXPECT_EQ(both.Hold(seconds(1), 10), milliseconds(50));
  EXPECT_EQ(both.Hold(seconds(1), 90), milliseconds(100));
}

TEST(ParseMounts, FindsOursAndNamesWithBlanks) {
  const std::vector<MountLine> mounts = ParseMounts(
      "22 28 0:21 / /sys rw,nosuid - sysfs sysfs rw\n"
      "90 28 0:50 / /a\\040b\\134 rw shared:1 master:2 - fuse.triodrill triodrill-1.a.0-77 rw,user_id=0\n"
      "91 28 0:51 / /c rw - fuse.triodrill triodrill-1.a.0-7 rw\n"
      "broken line - x y\n");
  ASSERT_THAT(mounts, SizeIs(3));
  EXPECT_EQ(mounts[0].type, "sysfs");
  const std::vector<MountLine> ours = OverlaysIn(mounts, "triodrill-1.a.0-77");
  ASSERT_THAT(ours, SizeIs(1));
  EXPECT_EQ(ours[0].point, "/a b\\");
  EXPECT_EQ(ours[0].id, 90);
}

}  // namespace
}  // namespace triodrill
