#include "injectors/cpu/throttle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "injectors/os/cgroup.h"
#include "injectors/os/file.h"
#include "tests/unit/injectors/child.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;

std::string Message(const Status& status) { return std::string(status.message()); }

std::string CgroupOf(pid_t pid) {
  const auto own = FindCgroup(pid, "cpu");
  return own.ok() ? own->directory : std::string(own.status().message());
}

class Throttle : public ::testing::Test {
 protected:
  void SetUp() override {
    const v1::Capability capability = ProbeCpuThrottle();
    if (!capability.possible()) GTEST_SKIP() << capability.reason();
  }
  v1::UndoRecord Prepared(const Child& child) {
    const auto record = injector_->Prepare(Aim("cpu.throttle", child.identity()));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : v1::UndoRecord();
  }
  const std::unique_ptr<Injector> injector_ = MakeCpuThrottle();
};

TEST_F(Throttle, IsProvedByThrottlingAndGivesThePriorCgroupBack) {
  const Child child = Child::Busy();
  const std::string before = CgroupOf(child.pid());
  const v1::UndoRecord record = Prepared(child);
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_EQ(CgroupOf(child.pid()), before) << "preparing changes nothing";
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(CgroupOf(child.pid()), record.cgroup().made_directory());
  EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kPresent; }));
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("quota 20000 us of 100000 us, process listed"));
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    EXPECT_EQ(CgroupOf(child.pid()), before);
  }
  EXPECT_FALSE(std::filesystem::exists(record.cgroup().made_directory()));
}

TEST_F(Throttle, HasNotLandedWhileTheTargetIsIdle) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  const auto effect = injector_->Inspect(record);
  EXPECT_EQ(effect->presence, Presence::kAbsent);
  EXPECT_THAT(effect->evidence, HasSubstr("process listed, nr_throttled 0"));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Throttle, TakesTheChildrenOfTheTargetBackToo) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const Child child([&] {
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) return;
    const Child grandchild = Child::Idle();
    const pid_t pid = grandchild.pid();
    if (::write(pipe_ends[1], &pid, sizeof(pid)) != sizeof(pid)) return;
    while (true) ::pause();
  });
  const std::string before = CgroupOf(child.pid());
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe_ends[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(grandchild)));
  EXPECT_EQ(CgroupOf(grandchild), record.cgroup().made_directory());
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(CgroupOf(grandchild), before);
  for (const int fd : {pipe_ends[0], pipe_ends[1], go[0], go[1]}) ::close(fd);
}

TEST_F(Throttle, IsUndoneWhenTheTargetHasDied) {
  Child child = Child::Busy();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  child.Kill();
  child.Reap();
  const Status reverted = injector_->Revert(record);
  EXPECT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_FALSE(std::filesystem::exists(record.cgroup().made_directory()));
}

TEST_F(Throttle, RemovesAHalfMadeCgroup) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_EQ(::mkdir(record.cgroup().made_directory().c_str(), 0755), 0);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_FALSE(std::filesystem::exists(record.cgroup().made_directory()));
}

TEST_F(Throttle, LeavesAQuotaThatSomebodyElseWrote) {
  const Child child = Child::Busy();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  const std::string& made = record.cgroup().made_directory();
  const bool v1 = record.cgroup().version() == 1;
  const std::string file = made + (v1 ? "/cpu.cfs_quota_us" : "/cpu.max");
  ASSERT_TRUE(WriteControlFileAt(AT_FDCWD, file, v1 ? "50000" : "50000 100000").ok());
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  EXPECT_EQ(CgroupOf(child.pid()), made);
  ASSERT_TRUE(WriteControlFileAt(AT_FDCWD, file, v1 ? "20000" : "20000 100000").ok());
  EXPECT_TRUE(injector_->Revert(record).ok()) << "and is undone once that was taken back";
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
}

TEST_F(Throttle, DoesNotRemoveAnotherCgroupByTheSameName) {
  const Child child = Child::Idle();
  v1::UndoRecord record = Prepared(child);
  const std::string& made = record.cgroup().made_directory();
  ASSERT_EQ(::mkdir(made.c_str(), 0755), 0);
  record.mutable_cgroup()->set_made_inode(1);
  EXPECT_FALSE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  EXPECT_TRUE(std::filesystem::exists(made));
  EXPECT_EQ(::rmdir(made.c_str()), 0);
}

TEST_F(Throttle, RefusesANameThatIsTaken) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_EQ(::mkdir(record.cgroup().made_directory().c_str(), 0755), 0);
  const auto again = injector_->Prepare(record.fault());
  EXPECT_TRUE(absl::IsAlreadyExists(again.status())) << again.status();
  EXPECT_EQ(::rmdir(record.cgroup().made_directory().c_str()), 0);
}

TEST_F(Throttle, RefusesAQuotaBelowTheKernelsFloor) {
  const Child child = Child::Idle();
  auto fault = Aim("cpu.throttle", child.identity());
  fault.mutable_with()->mutable_cpu_throttle()->set_quota(1);
  *fault.mutable_with()->mutable_cpu_throttle()->mutable_period() = ToProto(std::chrono::milliseconds(10));
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("use a longer period"));
}

TEST_F(Throttle, OfAnEarlierBootIsOver) {
  const Child child = Child::Idle();
  v1::UndoRecord record = Prepared(child);
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("earlier boot"));
}

}  // namespace
}  // namespace triodrill
