// Each planted defect, and what a sound pipeline does instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shadow_pipeline/story.h"

namespace triodrill::shadow::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <typename Tell>
void Both(Defect defect, Tell tell) {
  for (const Defect one : {Defect::kNone, defect}) {
    Story story(one);
    story.Train();
    tell(story, one != Defect::kNone);
    if (testing::Test::HasFailure()) FAIL() << (one == Defect::kNone ? "sound" : "defective") << ":\n" << story.All();
  }
}

TEST(Defects, AreKnownByNameAndOthersAreNot) {
  EXPECT_EQ(*ParseDefect("over_evict"), Defect::kOverEvict);
  EXPECT_EQ(*ParseDefect(""), Defect::kNone);
  EXPECT_THAT(std::string(ParseDefect("overevict").status().message()), HasSubstr("known: single_signal"));
  EXPECT_THAT(DescribeDefects(), HasSubstr("sdc_blind"));
}

TEST(Defects, SingleSignalIsolatesAfterAShortPause) {
  Both(Defect::kSingleSignal, [](Story& story, bool defective) {
    story.PauseRank(4);
    story.Pass(milliseconds(800));
    EXPECT_EQ(story.Lines("isolated").size(), defective ? 1u : 0u);
  });
}

TEST(Defects, DeafHeartbeatDetectsAPauseByTheWatchdogOnly) {
  Both(Defect::kDeafHeartbeat, [](Story& story, bool defective) {
    story.PauseRank(4);
    ASSERT_TRUE(story.Until("detected", seconds(10)));
    EXPECT_EQ(story.Count("detected slot=- "), defective ? 1 : 0);
  });
}

TEST(Defects, SilentHangNeverSpeaksOfAStall) {
  Both(Defect::kSilentHang, [](Story& story, bool defective) {
    story.CutLink("n2");
    EXPECT_EQ(story.Until("detected", seconds(60)), !defective);
  });
}

TEST(Defects, GlobalRestartStartsEveryRank) {
  Both(Defect::kGlobalRestart, [](Story& story, bool defective) {
    story.starts.clear();
    story.KillRank(4);
    ASSERT_TRUE(story.Until("restored step=30 epoch=2"));
    EXPECT_THAT(story.starts, SizeIs(defective ? 8 : 1));
  });
}

TEST(Defects, WrongNodeIsolatesTheNeighbour) {
  Both(Defect::kWrongNode, [](Story& story, bool defective) {
    story.PauseRank(4);
    ASSERT_TRUE(story.Until("isolated"));
    EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr(defective ? "slot=n3/0" : "slot=n2/0")));
    EXPECT_TRUE(story.Until("restored step=30 epoch=2"));
  });
}

TEST(Defects, OverEvictTakesTheDataParallelGroup) {
  Both(Defect::kOverEvict, [](Story& story, bool defective) {
    story.PauseRank(4);
    ASSERT_TRUE(story.Until("restored step=30 epoch=2"));
    EXPECT_THAT(story.Lines("isolated"), SizeIs(defective ? 4 : 1));
  });
}

TEST(Defects, SameNodeAgainIsolatesNothing) {
  Both(Defect::kSameNodeAgain, [](Story& story, bool defective) {
    story.PauseRank(4);
    ASSERT_TRUE(story.Until("detected", seconds(5)));
    story.ResumeRank(4);
    ASSERT_TRUE(story.Until("restored step=30 epoch=2"));
    EXPECT_THAT(story.Lines("isolated"), SizeIs(defective ? 0 : 1));
    EXPECT_EQ(story.starts.back().slot.Name(), defective ? "n2/0" : "s0/0");
  });
}

TEST(Defects, SpareRaceGivesTheJobUp) {
  Both(Defect::kSpareRace, [](Story& story, bool defective) {
    story.PauseRank(4);
    story.Pass(seconds(30));
    EXPECT_EQ(story.Count("gave_up"), defective ? 1 : 0);
    EXPECT_EQ(story.Count("epoch=2"), defective ? 1 : 2) << "ordered, and restored";
  });
}

TEST(Defects, StaleLatestRestoresTheOldest) {
  Both(Defect::kStaleLatest, [](Story& story, bool defective) {
    story.Pass(seconds(4));
    story.KillRank(4);
    ASSERT_TRUE(story.Until("epoch=2"));
    EXPECT_EQ(story.joins.back().step, defective ? story.checkpoints.back() : story.checkpoints.front());
    EXPECT_NE(story.checkpoints.back(), story.checkpoints.front());
  });
}

TEST(Defects, UnverifiedCheckpointTakesACorruptOne) {
  Both(Defect::kUnverifiedCheckpoint, [](Story& story, bool defective) {
    story.corrupt = {story.checkpoints.front()};
    story.KillRank(4);
    ASSERT_TRUE(story.Until("restored step=", seconds(10)));
    story.Pass(seconds(2));
    EXPECT_EQ(story.joins.back().verify, !defective);
    EXPECT_EQ(story.Count("is corrupt"), defective ? 0 : 1);
  });
}

TEST(Defects, NoBoundsRestartsInPlaceForEver) {
  Both(Defect::kNoBounds, [](Story& story, bool defective) {
    for (int i = 0; i < 15; ++i) {
      if (story.state.stage == Stage::kRun) story.KillRank(4);
      story.Pass(seconds(1));
    }
    EXPECT_EQ(story.Lines("isolated").empty(), defective);
    EXPECT_EQ(story.Count("gave_up"), defective ? 0 : 1);
  });
}

TEST(Defects, RestartFromZeroRestoresNothing) {
  Both(Defect::kRestartFromZero, [](Story& story, bool defective) {
    story.KillRank(4);
    ASSERT_TRUE(story.Until("epoch=2"));
    EXPECT_EQ(story.joins.back().source, defective ? "scratch" : "checkpoint");
  });
}

TEST(Defects, SlowRestoreWaitsHalfAMinute) {
  Both(Defect::kSlowRestore, [](Story& story, bool defective) {
    const TimePoint onset = story.now;
    story.KillRank(4);
    ASSERT_TRUE(story.Until("epoch=2"));
    EXPECT_EQ(story.TimeOf("epoch=2") - onset >= seconds(30), defective);
  });
}

TEST(Defects, SdcBlindStartsTrainersWithoutChecks) {
  Both(Defect::kSdcBlind, [](Story& story, bool defective) {
    EXPECT_EQ(story.starts[0].checks == "none", defective);
    EXPECT_EQ(story.starts[0].checks.find("gradient_hash") == std::string::npos, defective);
  });
}

TEST(Defects, DriftAlarmCallsOnePercentAStraggler) {
  Both(Defect::kDriftAlarm, [](Story& story, bool defective) {
    story.Pass(seconds(2));
    story.SlowRank(5, 1.02);
    story.Pass(seconds(10));
    EXPECT_EQ(story.Count("fault=straggler") > 0, defective);
  });
}

TEST(Defects, ReplayStaleEventIsolatesARankThatIsBackAndWell) {
  Both(Defect::kReplayStaleEvent, [](Story& story, bool defective) {
    story.KillRank(4);
    ASSERT_TRUE(story.Until("restored step=30 epoch=2"));
    story.Pass(seconds(5));
    EXPECT_THAT(story.Lines("detected"), SizeIs(defective ? 2 : 1));
    EXPECT_THAT(story.Lines("isolated"), SizeIs(defective ? 1 : 0));
  });
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
