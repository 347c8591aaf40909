#include "coordinator/engines/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "coordinator/engines/programs.h"

namespace triodrill::engines {
namespace {

using ::testing::HasSubstr;

class StateDir : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/triodrill-state-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  mode_t ModeOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found.st_mode & 07777;
  }

  std::string base_;
};

TEST(DefaultStateDir, IsWhatTheEnvironmentSaysElsePrivateToTheUser) {
  EXPECT_EQ(DefaultStateDir("demo", "/x", "/run/user/7", 7), "/x");
  EXPECT_EQ(DefaultStateDir("demo", "", "/run/user/7", 7), "/run/user/7/triodrill/demo");
  EXPECT_EQ(DefaultStateDir("demo", "", "", 0), "/run/triodrill/demo");
  EXPECT_EQ(DefaultStateDir("demo", "", "", 7), "/tmp/triodrill-7/demo");
}

TEST_F(StateDir, IsMadePrivateWithItsParents) {
  ASSERT_EQ(PrepareStateDir(base_ + "/a/b"), Ok());
  EXPECT_EQ(ModeOf(base_ + "/a"), 0700U);
  EXPECT_EQ(ModeOf(base_ + "/a/b"), 0700U);
  EXPECT_EQ(PrepareStateDir(base_ + "/a/b"), Ok()) << "a second time";
}

TEST_F(StateDir, IsRefusedWhereOthersMayEnter) {
  ASSERT_EQ(PrepareStateDir(base_ + "/s"), Ok());
  ASSERT_EQ(chmod((base_ + "/s").c_str(), 0755), 0);
  EXPECT_THAT(PrepareStateDir(base_ + "/s").message(), HasSubstr("closed to others"));
}

TEST_F(StateDir, IsRefusedBelowADirectoryInWhichOthersMayWrite) {
  ASSERT_EQ(mkdir((base_ + "/open").c_str(), 0700), 0);
  ASSERT_EQ(chmod((base_ + "/open").c_str(), 0777), 0);
  EXPECT_THAT(PrepareStateDir(base_ + "/open/s").message(), HasSubstr("others may write"));
}

TEST_F(StateDir, IsRefusedIfItIsALink) {
  ASSERT_EQ(symlink("/tmp", (base_ + "/s").c_str()), 0);
  EXPECT_FALSE(PrepareStateDir(base_ + "/s").ok());
}

TEST_F(StateDir, IsRefusedIfASocketsPathWouldBeCut) {
  const std::string longest =
      base_ + "/" + std::string(107 - base_.size() - 1 - std::string("/coordinator.sock").size(), 'x');
  EXPECT_EQ(PrepareStateDir(longest), Ok());
  EXPECT_THAT(PrepareStateDir(longest + "x").message(), HasSubstr("fewer than 108"));
  EXPECT_FALSE(std::filesystem::exists(longest + "x"));
}

TEST_F(StateDir, IsRefusedIfItsPathIsRelative) { EXPECT_FALSE(PrepareStateDir("state").ok()); }

TEST_F(StateDir, IsLockedByOneRunWhosePidIsNamed) {
  Result<std::unique_ptr<PartitionLock>> first = PartitionLock::Take(base_ + "/s");
  ASSERT_TRUE(first.ok()) << first.status();
  const Result<std::unique_ptr<PartitionLock>> second = PartitionLock::Take(base_ + "/s");
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(second.status().message(), HasSubstr("pid " + std::to_string(getpid())));
  first->reset();
  EXPECT_TRUE(PartitionLock::Take(base_ + "/s").ok());
}

TEST_F(StateDir, IsNotLockedForARunByWhoBringsItUp) {
  const Result<std::unique_ptr<PartitionLock>> up = PartitionLock::TakeForUp(base_ + "/s");
  ASSERT_TRUE(up.ok()) << up.status();
  EXPECT_TRUE(PartitionLock::Take(base_ + "/s").ok());
  EXPECT_FALSE(PartitionLock::TakeForUp(base_ + "/s").ok());
}

TEST_F(StateDir, ProgramsAreFoundBesideTheirDataInAnInstallationAndInABuild) {
  std::filesystem::create_directories(base_ + "/usr/bin");
  std::filesystem::create_directories(base_ + "/usr/share/triodrill/shadow");
  std::filesystem::create_directories(base_ + "/src/build/dev/bin");
  std::filesystem::create_directories(base_ + "/src/drills/shadow");
  const Result<Programs> installed = FindProgramsIn(base_ + "/usr/bin");
  ASSERT_TRUE(installed.ok()) << installed.status();
  EXPECT_EQ(installed->agent, base_ + "/usr/bin/triodrilld");
  EXPECT_EQ(installed->data_dir, base_ + "/usr/share/triodrill");
  const Result<Programs> built = FindProgramsIn(base_ + "/src/build/dev/bin");
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->data_dir, base_ + "/src/drills");
  EXPECT_TRUE(absl::IsNotFound(FindProgramsIn(base_).status()));
}

}  // namespace
}  // namespace triodrill::engines
