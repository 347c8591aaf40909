// A run whose evidence finds no room: before it began, and in the middle. On a small file system of the test's own, in
// a mount namespace of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstring>

#include "tests/e2e/live_job.h"

namespace triodrill {
namespace {

using testing::CountLines;
using testing::Eventually;
using testing::FillDisk;
using ::testing::HasSubstr;
using testing::Partition;

constexpr std::chrono::seconds kLong{120};

class OutDir : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(small_);
    // Every program that is started below is in the namespace as well; the host does not see the mount.
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("small", small_.c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "a small file system needs root: " << strerrordesc_np(errno);
    }
  }
  void TearDown() override {
    umount2(small_.c_str(), MNT_DETACH);
    EXPECT_TRUE(testing::ProgramsOf(partition_.state_dir()).empty())
        << ::testing::PrintToString(testing::ProgramsOf(partition_.state_dir()));
  }
  std::unique_ptr<testing::Program> Run(const std::string& drill) {
    return partition_.StartRun(drill, {"--trials", "1", "--sham", "0", "--out", small_ + "/b"}, "reference");
  }

  Partition partition_;
  const std::string small_ = partition_.Path("small");
};

TEST_F(OutDir, AFullOneIsFoundBeforeAnythingIsTouched) {
  FillDisk(small_ + "/ballast");
  const auto run = Run("software/kill-in-place.yaml");
  EXPECT_EQ(run->Wait(kLong), 3) << run->Err();
  EXPECT_THAT(run->Err(), HasSubstr("No space left"));
  EXPECT_THAT(run->Err(), HasSubstr("nothing was touched"));
  EXPECT_FALSE(std::filesystem::exists(partition_.state_dir() + "/shadow.sock"));
}

TEST_F(OutDir, OneThatFillsUpInTheMiddleEndsTheRunAndEverythingIsUndone) {
  const auto run = Run("hardware/drift.yaml");  // held for 12 s
  const std::string timeline = small_ + "/b/timeline.jsonl";
  ASSERT_TRUE(Eventually(kLong, [&] { return CountLines(timeline, "\"landed\":{") > 0; })) << run->Err();
  FillDisk(small_ + "/ballast");
  EXPECT_EQ(run->Wait(kLong), 70) << run->Err();
  EXPECT_THAT(run->Err(), HasSubstr("No space left"));
  EXPECT_THAT(run->Err(), HasSubstr("every fault was undone"));
  for (const std::string& node : testing::Names(partition_.state_dir() + "/nodes")) {
    EXPECT_TRUE(testing::Names(partition_.state_dir() + "/nodes/" + node + "/journal").empty()) << node;
  }
  const auto judge = partition_.Start({"judge", small_ + "/b"});
  EXPECT_NE(judge->Wait(kLong), 0) << "half the evidence is no pass";
  EXPECT_THAT(judge->Err(), HasSubstr("incomplete"));
}

}  // namespace
}  // namespace triodrill
