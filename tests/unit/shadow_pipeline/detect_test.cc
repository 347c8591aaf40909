// What is called a fault, when, and by which signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shadow_pipeline/story.h"

namespace triodrill::shadow::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Detection, NothingIsSaidOfAJobThatIsWell) {
  Story story;
  story.Train(seconds(120));
  EXPECT_THAT(story.Lines("suspected"), IsEmpty()) << story.All();
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, AKilledRankIsKnownAtOnceByItsExitAndItsSocket) {
  Story story;
  story.Train();
  const TimePoint onset = story.now;
  story.KillRank(4);
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=n2/0 rank=4 node=n2 fault=dead by=exit,heartbeat")));
  EXPECT_EQ(story.TimeOf("detected"), onset);
  EXPECT_THAT(story.Lines("suspected"), IsEmpty());
}

TEST(Detection, APausedRankIsSuspectedByOneSignalAndDetectedByTwo) {
  Story story;
  story.Train();
  const TimePoint onset = story.now;
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("detected slot=n2/0 rank=4 node=n2 fault=hung by=heartbeat,log", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("suspected"), ElementsAre(HasSubstr("slot=n2/0 rank=4 by=heartbeat")));
  EXPECT_LE(story.TimeOf("suspected") - onset, milliseconds(700));
  EXPECT_LE(story.TimeOf("detected") - onset, seconds(3));
}

TEST(Detection, APauseOf800MillisecondsIsNoMoreThanSuspected) {
  Story story;
  story.Train();
  story.PauseRank(4);
  story.Pass(milliseconds(800));
  story.ResumeRank(4);
  story.Pass(seconds(10));
  EXPECT_THAT(story.Lines("suspected"), ElementsAre(HasSubstr("by=heartbeat")));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, ARankWhoseHeartbeatsAreLostButWhoseStepsGoOnIsOnlySuspected) {
  Story story;
  story.Train();
  for (int i = 0; i < 100; ++i) {
    story.now += milliseconds(100);
    for (int rank = 0; rank < 7; ++rank) {
      const Slot slot = story.state.placement[static_cast<size_t>(rank)];
      Beat beat;
      beat.step = 100 + i;
      beat.phase = "compute";
      beat.last_line = "step";
      beat.sent_bytes = static_cast<uint64_t>(1000 + i);
      story.Give(Said{slot, story.state.slots[slot].trainer.incarnation, beat});
    }
    story.Give(Tick{});
  }
  EXPECT_THAT(story.Lines("suspected"), ElementsAre(HasSubstr("slot=n3/1 rank=7 by=heartbeat")));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, ACheckpointThatWasNotSavedIsSaidAndHeldAgainstNobody) {
  Story story;
  story.Train();
  const Slot slot = story.state.placement[0];
  story.Give(Said{slot, story.state.slots[slot].trainer.incarnation, Saved{30, "failed", "No space left on device"}});
  EXPECT_THAT(story.Lines("checkpoint_not_saved"),
              ElementsAre(HasSubstr("slot=n0/0 rank=0 step=30 detail=\"No space left on device\"")));
  story.PauseRank(0);  // one signal of three: with the disk's fault beside it, it would be two
  story.Pass(milliseconds(800));
  story.ResumeRank(0);
  story.Pass(seconds(5));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
  EXPECT_THAT(story.Lines("suspected"), Each(HasSubstr("by=heartbeat"))) << story.All();
}

TEST(Detection, ARankThatAloneDoesNotWaitInTheCollectiveIsTheCulprit) {
  Story story;
  story.Train();
  story.HangRank(3);
  ASSERT_TRUE(story.Until("detected", seconds(5)));
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=n1/1 rank=3 node=n1 fault=hung by=log,traffic")));
}

TEST(Detection, AStallWithoutACulpritNamesNobodyAndTheSelfCheckNamesTheNode) {
  Story story;
  story.Train();
  const TimePoint onset = story.now;
  story.CutLink("n2");
  ASSERT_TRUE(story.Until("self_checked", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=- rank=- node=- fault=silent")));
  EXPECT_LE(story.TimeOf("detected") - onset, milliseconds(3300));
  EXPECT_THAT(story.Lines("self_checked"), ElementsAre(HasSubstr("bad=n2 detail=\"link n2: 10 of 10")));
}

TEST(Detection, ABrokenCollectiveThatNobodyExplainsIsAStall) {
  Story story;
  story.Train();
  const Slot slot = story.state.placement[1];
  story.Give(Said{slot, story.state.slots[slot].trainer.incarnation, Failed{story.state.epoch, 20, "reset", false}});
  story.HangRank(1);
  ASSERT_TRUE(story.Until("detected slot=- rank=- node=- fault=silent by=log", seconds(2))) << story.All();
  ASSERT_TRUE(story.Until("self_checked bad=-", seconds(5)));
}

TEST(Detection, ABrokenCollectiveAfterADeathIsItsConsequence) {
  Story story;
  story.Train();
  const Slot survivor = story.state.placement[1];
  story.Give(
      Said{survivor, story.state.slots[survivor].trainer.incarnation, Failed{story.state.epoch, 20, "reset", false}});
  story.KillRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("rank=4")));
}

constexpr char kFatalLine[] = "NVRM: Xid (PCI:0000:01:00): 79, pid=7, name=x, GPU has fallen off the bus.";

TEST(KernelLog, AFatalXidCostsItsGpuAtOnceThoughAllElseIsWell) {
  Story story;
  story.Train();
  const TimePoint onset = story.now;
  story.Give(XidSeen{{"n2", 1}, 79, kFatalLine});
  EXPECT_THAT(story.Lines("detected"),
              ElementsAre(HasSubstr("slot=n2/1 rank=5 node=n2 fault=gpu_error by=kernel_log detail=\"NVRM: Xid")));
  EXPECT_EQ(story.TimeOf("detected"), onset);
  EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr("slot=n2/1 level=gpu")));
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), ElementsAre("replaced slot=s0/0 rank=5 instead_of=n2/1"));
  ASSERT_TRUE(story.Until("returned slot=n2/1")) << "its check finds it well: " << story.All();
  EXPECT_THAT(story.Lines("detected"), testing::SizeIs(1));
}

TEST(KernelLog, AnXidThatIsNotFatalIsSaidAndHeldAgainstNobody) {
  Story story;
  story.Train();
  story.Give(XidSeen{{"n2", 1}, 43, "NVRM: Xid (PCI:0000:01:00): 43, pid=7, name=x, Ch 00000008"});
  story.Pass(seconds(10));
  EXPECT_THAT(story.Lines("xid"), ElementsAre(HasSubstr("slot=n2/1 xid=43 fatal=no")));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(KernelLog, WhichXidsAreFatalIsThePolicys) {
  Policy policy = *ParsePolicy(
      "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: test}\n"
      "spec: {detection: {fatal_xids: [43]}}\n",
      "policy.yaml");
  Story story(policy);
  story.Train();
  story.Give(XidSeen{{"n2", 1}, 79, kFatalLine});
  story.Pass(seconds(3));
  EXPECT_THAT(story.Lines("detected"), IsEmpty());
  story.Give(XidSeen{{"n2", 1}, 43, "NVRM: Xid (PCI:0000:01:00): 43, pid=7, name=x, Ch 00000008"});
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=n2/1")));
}

TEST(KernelLog, AFatalXidOfASpareTakesItOutOfThePool) {
  Story story;
  story.Train();
  story.Give(XidSeen{{"s0", 0}, 79, kFatalLine});
  EXPECT_THAT(story.Lines("detected"), IsEmpty());
  story.Give(XidSeen{{"n2", 1}, 79, kFatalLine});
  ASSERT_TRUE(story.Until("replaced", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), ElementsAre("replaced slot=s0/1 rank=5 instead_of=n2/1"));
}

TEST(Detection, AStragglerIsFoundByItsComputingAndItsWaiting) {
  Story story;
  story.Train();
  story.SlowRank(5, 1.9);
  ASSERT_TRUE(story.Until("detected", seconds(6))) << story.All();
  EXPECT_THAT(story.Lines("detected"),
              ElementsAre(HasSubstr("slot=n2/1 rank=5 node=n2 fault=straggler by=compute,wait")));
}

TEST(Detection, ADriftOfTwoPercentIsNoStraggler) {
  Story story;
  story.Train();
  for (int i = 0; i < 60; ++i) {
    story.SlowRank(5, 1 + 0.02 * (i % 10) / 10);
    story.Pass(seconds(1));
  }
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, ASlowStepNowAndThenIsNoStraggler) {
  Story story;
  story.Train();
  for (int i = 0; i < 30; ++i) {
    story.SlowRank(5, 10);
    story.Pass(milliseconds(100));
    story.SlowRank(5, 1);
    story.Pass(milliseconds(900));
  }
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, EverybodySlowIsNoStraggler) {
  Story story;
  story.Train();
  for (int rank = 0; rank < 8; ++rank) story.SlowRank(rank, 2);
  story.Pass(seconds(20));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Detection, SuspectsOfOneStepAreOneFinding) {
  Story story;
  story.Train();
  story.SuspectBy(6, "state_hash");
  ASSERT_TRUE(story.Until("restored step=30 epoch=2")) << story.All();
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=n3/0 rank=6 node=n3 fault=sdc by=state_hash")));
  ASSERT_EQ(story.ledger.size(), 1u);
  EXPECT_EQ(story.ledger[0].slot, "n3/0");
  EXPECT_EQ(story.ledger[0].check, "state_hash");
  EXPECT_EQ(story.ledger[0].frequency, 1);
  EXPECT_EQ(story.ledger[0].retests.size(), 2u);
}

TEST(Detection, ASuspicionThatNamesNobodyRollsBackAndIsolatesNobody) {
  Story story;
  story.Train();
  story.SuspectBy(-1, "norm");
  ASSERT_TRUE(story.Until("restored step=30 epoch=2")) << story.All();
  EXPECT_THAT(story.Lines("isolated"), IsEmpty());
  EXPECT_THAT(story.Lines("sdc_ledger"), ElementsAre(HasSubstr("slot=- rank=-")));
}

TEST(Detection, AGapOfThePipelinesOwnIsHeldAgainstNobody) {
  Story story;
  story.Train();
  story.now += seconds(5);
  story.Give(Tick{});
  EXPECT_THAT(story.Lines("suspected"), IsEmpty());
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
