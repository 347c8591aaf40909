// How storage.full and storage.slow end, whatever dies, and what they refuse to cover.
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "tests/unit/injectors/covered.h"

namespace triodrill {
namespace {

using ::testing::AnyOf;
using testing::Child;
using testing::Covered;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::KillUnawares;
using ::testing::SizeIs;
using testing::WriteFile;
namespace fs = std::filesystem;

class Overlay : public Covered {
 protected:
  std::string Refusal(const v1::AimedFault& fault) {
    v1::UndoRecord record;
    *record.mutable_fault() = fault;
    const auto prepared = For(record).Prepare(fault);
    return prepared.ok() ? "<prepared>" : std::string(prepared.status().message());
  }
  std::string RefusalOf(const std::string& directory) {
    v1::AimedFault fault = Full();
    fault.mutable_with()->mutable_storage_full()->set_directory(directory);
    return Refusal(fault);
  }
};

TEST_F(Overlay, LeavesAUsableDirectoryWhenEitherOfItsProcessesIsKilled) {
  for (const bool server : {true, false}) {
    const v1::UndoRecord record = Applied(Full());
    const std::vector<pid_t> programs = Programs(record);
    ASSERT_THAT(programs, SizeIs(2));
    for (const pid_t pid : programs) {
      if (IsServer(pid) == server) ::kill(pid, SIGKILL);
    }
    EXPECT_TRUE(Eventually([&] { return Mounts(record) == 0; }));
    ExpectUncovered(record);
    EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  }
}

TEST_F(Overlay, IsUndoneFromTheRecordWhenBothOfItsProcessesAreKilled) {
  const v1::UndoRecord record = Applied(Full());
  ASSERT_TRUE(KillUnawares(Programs(record)));
  ASSERT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  EXPECT_EQ(Mounts(record), 1);
  // The second where the kernel is still at closing what the server held.
  EXPECT_THAT(WriteFile(In("new"), 1, O_CREAT).error, AnyOf(ENOTCONN, ECONNABORTED));
  EXPECT_EQ(Look(record).presence, Presence::kPresent);
  EXPECT_THAT(Look(record).evidence, HasSubstr("nobody serves it"));
  ExpectUncovered(record);
}

TEST_F(Overlay, IsUndoneThoughItsServerDoesNotListen) {
  const v1::UndoRecord record = Applied(Full());
  for (const pid_t pid : Programs(record)) ::kill(pid, SIGSTOP);
  ExpectUncovered(record);
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
}

TEST_F(Overlay, EndsByItselfWhenToldToByASignal) {
  const v1::UndoRecord record = Applied(Full());
  for (const pid_t pid : Programs(record)) {
    if (!IsServer(pid)) ::kill(pid, SIGTERM);
  }
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && Mounts(record) == 0; }));
  ExpectUncovered(record);
}

TEST_F(Overlay, EndsWhenItsTimeIsUp) {
  v1::UndoRecord record = Prepared(Full());
  record.set_expires_boottime_ns((SinceBoot() + std::chrono::milliseconds(300)).count());
  ASSERT_TRUE(full_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && Mounts(record) == 0; }));
  ExpectUncovered(record);
}

TEST_F(Overlay, EndsWithTheProcessThatAskedForIt) {
  const v1::UndoRecord record = Prepared(Full());
  Child agent([&] { ::_exit(full_->Apply(record).ok() && Mounts(record) == 1 ? 0 : 1); });
  const int status = agent.Reap();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && Mounts(record) == 0; }));
  ExpectUncovered(record);
}

TEST_F(Overlay, OutlivesItsTarget) {
  const v1::UndoRecord record = Applied(Full());
  child_.Kill();
  EXPECT_EQ(WriteFile(In("new"), 1, O_CREAT).error, ENOSPC) << "a full disk does not empty itself when a rank ends";
  EXPECT_EQ(Look(record).presence, Presence::kPresent);
  ExpectUncovered(record);
}

TEST_F(Overlay, LeavesWhatSomebodyElseMountedOverIt) {
  const v1::UndoRecord record = Applied(Full());
  ASSERT_EQ(::mount("other", In("").c_str(), "tmpfs", 0, "size=64k"), 0);
  EXPECT_EQ(Look(record).presence, Presence::kForeign);
  EXPECT_THAT(std::string(full_->Revert(record).message()), HasSubstr("something else is mounted over it"));
  EXPECT_EQ(WriteFile(In("theirs"), 1, O_CREAT).error, 0);
  EXPECT_EQ(fs::file_size(In("theirs")), 1);
  ASSERT_EQ(::umount2(In("").c_str(), MNT_DETACH), 0);
  EXPECT_EQ(WriteFile(In("new"), 1, O_CREAT).error, 0) << "ours passes everything on by now";
  ExpectUncovered(record);
}

TEST_F(Overlay, OwesNothingAfterAReboot) {
  v1::UndoRecord record = Applied(Full());
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(Look(record).presence, Presence::kAbsent);
  EXPECT_TRUE(full_->Revert(record).ok());
  EXPECT_EQ(Mounts(record), 1) << "what looks the same is another's";
}

TEST_F(Overlay, IsNotAppliedToAnotherDirectoryOfThatName) {
  const v1::UndoRecord record = Prepared(Full());
  fs::rename(In(""), root_.path() + "/aside");
  fs::create_directory(In(""));
  EXPECT_THAT(std::string(full_->Apply(record).message()), HasSubstr("is another directory now"));
  EXPECT_EQ(Mounts(record), 0);
  EXPECT_TRUE(full_->Revert(record).ok());
}

TEST_F(Overlay, RefusesWhatWouldHurtMoreThanTheJob) {
  for (const char* directory : {"..", "/etc", "missing", "latest"}) {
    EXPECT_NE(RefusalOf(directory), "<prepared>") << directory;
  }
  EXPECT_THAT(RefusalOf("."), HasSubstr("it is the working directory of the target"));
  EXPECT_THAT(RefusalOf("/"), ::testing::Not("<prepared>"));
  {
    const UniqueFd journal(::open(In("step-10/journal").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_THAT(RefusalOf("checkpoint"), HasSubstr("this process itself uses"));
    EXPECT_THAT(RefusalOf("checkpoint/step-10"), HasSubstr("this process itself uses"));
  }
  EXPECT_EQ(RefusalOf("checkpoint"), "<prepared>");
  ASSERT_EQ(::mount("other", In("step-10").c_str(), "tmpfs", 0, "size=64k"), 0);
  EXPECT_THAT(RefusalOf("checkpoint/step-10"), HasSubstr("a file system is mounted there"));
  EXPECT_THAT(RefusalOf("checkpoint"), HasSubstr("a file system is mounted below it"));
  ASSERT_EQ(::umount2(In("step-10").c_str(), MNT_DETACH), 0);
  const v1::UndoRecord record = Applied(Full());
  EXPECT_THAT(RefusalOf("checkpoint"), HasSubstr("a file system is mounted there"));
  EXPECT_THAT(RefusalOf("checkpoint/step-10"), HasSubstr("covered by another drill"));
}

TEST_F(Overlay, RefusesATargetWithMountsOfItsOwn) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const Child other([&] {
    const bool moved = ::chdir(root_.path().c_str()) == 0 && ::unshare(CLONE_NEWNS) == 0;
    if (::write(ready[1], moved ? "y" : "n", 1) == 1) ::pause();
  });
  char moved = 0;
  ASSERT_EQ(::read(ready[0], &moved, 1), 1);
  ::close(ready[0]);
  ::close(ready[1]);
  ASSERT_EQ(moved, 'y');
  EXPECT_THAT(Refusal(testing::Aim("storage.full", other.identity())), HasSubstr("in another mount namespace"));
}

TEST_F(Overlay, RefusesWhatWouldBeNoFaultAtAll) {
  EXPECT_THAT(Refusal(Full(-1)), HasSubstr("after_bytes is negative"));
  EXPECT_THAT(Refusal(Slow(Nanos(0))), HasSubstr("more than nothing"));
  EXPECT_THAT(Refusal(Slow(std::chrono::seconds(61))), HasSubstr("at most 60 s"));
  EXPECT_THAT(Refusal(Slow(Nanos(0), -5)), HasSubstr("more than nothing"));
}

}  // namespace
}  // namespace triodrill
