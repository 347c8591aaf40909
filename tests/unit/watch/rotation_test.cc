#include "coordinator/watch/rotation.h"

#include <gtest/gtest.h>

#include <vector>

namespace triodrill::watch {
namespace {

constexpr FileId kA{.device = 1, .inode = 10};
constexpr FileId kB{.device = 1, .inode = 11};
constexpr FileId kSameInodeElsewhere{.device = 2, .inode = 10};

TEST(Rotation, TakesTheFirstFileThatAppears) { EXPECT_EQ(Look({}, kA), Naming::kOther); }

TEST(Rotation, KeepsWhatItHoldsWhileThePathNamesIt) {
  EXPECT_EQ(Look(std::vector{kA}, kA), Naming::kHeld);
  EXPECT_EQ(Look(std::vector{kA, kB}, kB), Naming::kHeld);
}

TEST(Rotation, KeepsWhatItHoldsWhenThePathNamesNothing) {
  EXPECT_EQ(Look(std::vector{kA}, std::nullopt), Naming::kNobody);
}

TEST(Rotation, TakesAnotherFileUnderTheSamePath) {
  EXPECT_EQ(Look(std::vector{kA}, kB), Naming::kOther);
  EXPECT_EQ(Look(std::vector{kA}, kSameInodeElsewhere), Naming::kOther);
}

TEST(Rotation, HoldsTheOldFileUntilANewOneHasBytes) {
  EXPECT_EQ(LetGo(std::vector<int64_t>{}), 0u);
  EXPECT_EQ(LetGo(std::vector<int64_t>{0}), 0u);
  EXPECT_EQ(LetGo(std::vector<int64_t>{0, 0}), 0u);
  EXPECT_EQ(LetGo(std::vector<int64_t>{5}), 1u);
}

TEST(Rotation, LetsGoOfEmptyFilesInBetween) { EXPECT_EQ(LetGo(std::vector<int64_t>{0, 0, 9, 3}), 3u); }

TEST(Rotation, KnowsAFileByTheBytesBeforeItsOffset) {
  EXPECT_FALSE(Rewritten("", ""));
  EXPECT_FALSE(Rewritten("step 1\n", "step 1\nstep 2\n"));
  EXPECT_FALSE(Rewritten("step 1\n", "step 1\n"));
}

TEST(Rotation, SeesATruncation) { EXPECT_TRUE(Rewritten("step 1\n", "")); }

TEST(Rotation, SeesATruncationThatHasGrownPastTheOffsetAgain) {
  EXPECT_TRUE(Rewritten("step 1\n", "step 9\nstep 10\n"));
}

}  // namespace
}  // namespace triodrill::watch
