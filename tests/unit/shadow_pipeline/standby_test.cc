// Warm spares: a trainer without a rank takes a dead rank's place at once, at the step where the job stood.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shadow_pipeline/story.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Policy Warm(int standbys) {
  Policy policy = DefaultPolicy();
  policy.spec.mutable_spares()->set_warm(standbys);
  policy.spec.mutable_recovery()->set_source(v1::PEERS);
  return policy;
}

std::string Restored(int64_t step, int epoch) { return Cat("restored step=", step, " epoch=", epoch); }

TEST(Standby, ThereIsNoneUnlessThePolicyAsksForIt) {
  Story story;
  story.Train(seconds(30));
  EXPECT_THAT(story.starts, SizeIs(8));
  EXPECT_THAT(story.checks, IsEmpty());
  EXPECT_THAT(story.Lines("standby"), IsEmpty());
}

TEST(Standby, ComesOnceTheJobRunsAndIsSpreadOverTheSpareNodes) {
  Story story(Warm(3));
  story.Train();
  ASSERT_THAT(story.starts, SizeIs(11)) << story.All();
  EXPECT_LT(story.TimeOf("restored step=0"), story.TimeOf("standby"));
  EXPECT_EQ(story.starts[8].slot.Name(), "s0/0");
  EXPECT_EQ(story.starts[9].slot.Name(), "s1/0");
  EXPECT_EQ(story.starts[10].slot.Name(), "s0/1");
  EXPECT_EQ(story.starts[8].rank, -1);
  EXPECT_EQ(story.Count("state=ready"), 3);
  story.Pass(seconds(60));
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
  EXPECT_THAT(story.starts, SizeIs(11));
}

TEST(Standby, TakesOverADeadRankWithoutAStartACheckOrALostStep) {
  Story story(Warm(1));
  story.Train(seconds(5));
  story.starts.clear();
  story.checks.clear();
  story.joins.clear();
  const int64_t stood = story.state.progress_step;
  story.KillRank(4);
  EXPECT_THAT(story.Lines("replaced"), ElementsAre("replaced slot=s0/0 rank=4 instead_of=n2/0 by=standby"));
  EXPECT_THAT(story.starts, IsEmpty()) << "nothing that a take-over waits for";
  EXPECT_THAT(story.checks, IsEmpty());
  EXPECT_THAT(story.joins, SizeIs(8)) << "told at once";
  ASSERT_TRUE(story.Until(Restored(stood, 2), seconds(1))) << story.All();
  EXPECT_THAT(story.kills, IsEmpty()) << "survivors keep their processes";
  EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr("slot=n2/0 level=gpu")));
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=peers"));
  story.Pass(seconds(10));
  EXPECT_THAT(story.starts, ElementsAre(testing::Field(&StartTrainer::rank, -1))) << "the next one is warmed";
  EXPECT_THAT(story.Lines("returned"), SizeIs(1));
  EXPECT_THAT(story.Lines("detected"), SizeIs(1)) << story.All();
}

TEST(Standby, TakesOverAPausedRankToo) {
  Story story(Warm(1));
  story.Train(seconds(5));
  const int64_t stood = story.state.progress_step;
  story.PauseRank(5);
  ASSERT_TRUE(story.Until(Restored(stood, 2), seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s0/0 rank=5 instead_of=n2/1 by=standby")));
}

TEST(Standby, APersonWhoWantsToBeAskedOfSlotsIsNotPassedOver) {
  Policy policy = Warm(1);
  policy.spec.mutable_tiers()->set_isolate_gpu(v1::CONFIRM);
  Story story(policy);
  story.Train(seconds(5));
  story.KillRank(4);
  ASSERT_TRUE(story.Until("epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), IsEmpty()) << "restarted in place";
  EXPECT_THAT(story.Lines("awaits_confirmation"), IsEmpty());
}

TEST(Standby, ThatDiesIsStartedAgainAndIsNoFaultOfTheJob) {
  Story story(Warm(1));
  story.Train(seconds(5));
  story.KillStandby({"s0", 0});
  story.Pass(seconds(1));
  EXPECT_THAT(story.Lines("standby"), ElementsAre(HasSubstr("state=starting"), HasSubstr("state=ready"),
                                                  HasSubstr("slot=s0/0 state=lost detail=\"killed by signal 9\""),
                                                  HasSubstr("state=starting"), HasSubstr("state=ready")));
  story.Pass(seconds(10));
  EXPECT_THAT(story.Lines("detected"), IsEmpty());
  EXPECT_EQ(story.state.epoch, 1) << "nobody was halted";
}

TEST(Standby, ThatDiesTooOftenIsTriedElsewhere) {
  Story story(Warm(1));
  story.Train(seconds(5));
  for (int i = 0; i < 3; ++i) {
    story.KillStandby({"s0", 0});
    story.Pass(seconds(1));
  }
  EXPECT_EQ(story.Count("slot=s0/0 state=given_up"), 1) << story.All();
  EXPECT_EQ(story.starts.back().slot.node, "s1") << "all slots of one node may have the same trouble";
  EXPECT_EQ(story.state.epoch, 1);
}

TEST(Standby, ThatFallsSilentIsKilledAndStartedAgain) {
  Story story(Warm(1));
  story.Train(seconds(5));
  story.PauseStandby({"s0", 0});
  ASSERT_TRUE(story.Until("state=lost detail=\"its heartbeat is missing\"", seconds(5))) << story.All();
  story.Pass(seconds(1));
  EXPECT_THAT(story.kills, SizeIs(1));
  EXPECT_EQ(story.Count("state=ready"), 2) << story.All();
  EXPECT_THAT(story.Lines("detected"), IsEmpty());
}

TEST(Standby, ThatNeverSpeaksIsKilled) {
  Story story(Warm(1));
  story.mute = {{"s0", 0}};
  story.Train(seconds(5));
  ASSERT_TRUE(story.Until("state=lost detail=\"was started and never spoke\"", seconds(15))) << story.All();
}

TEST(Standby, OnANodeThatFailsItsCheckMakesWayForOneElsewhere) {
  Story story(Warm(1));
  story.Train(seconds(5));
  story.sick.insert("s0");
  ASSERT_TRUE(story.Until("self_checked bad=s0", seconds(15))) << story.All();
  ASSERT_TRUE(story.Until("standby slot=s1/0 state=ready", seconds(2))) << story.All();
  EXPECT_THAT(story.Lines("detected"), IsEmpty());
  EXPECT_THAT(story.Lines("isolated"), IsEmpty()) << "nobody was served by it";
  story.Pass(seconds(2));
  story.KillRank(4);
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s1/0 rank=4")));
}

TEST(Standby, WhoseCheckIsTooOldIsCheckedBeforeItIsUsed) {
  Story story(Warm(1));
  story.Train(seconds(5));
  story.state.nodes["s0"].well_at = story.now - seconds(11);
  story.checks.clear();
  story.PauseRank(4);
  story.state.nodes["s0"].warm_check = 0;
  ASSERT_TRUE(story.Until("replaced", seconds(5))) << story.All();
  EXPECT_THAT(story.checks, Not(IsEmpty()));
}

TEST(Standby, OneOfThemTakesOverTheFirstOfTwoAndTheOtherIsRestartedInPlace) {
  Story story(Warm(1));
  story.Train(seconds(5));
  const int64_t stood = story.state.progress_step;
  story.KillRank(4);
  story.KillRank(6);
  ASSERT_TRUE(story.Until(Restored(stood, 3), seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s0/0 rank=4 instead_of=n2/0 by=standby")));
  EXPECT_THAT(story.Lines("isolated"), SizeIs(1));
  EXPECT_THAT(story.Lines("restore_ordered"),
              ElementsAre(HasSubstr("scratch"), HasSubstr("peers"), HasSubstr("peers")));
}

TEST(Standby, ThatIsStillStartingIsWaitedForRatherThanAnotherStarted) {
  Policy policy = Warm(1);
  policy.spec.mutable_isolation()->set_restarts_in_place(0);
  Story story(policy);
  story.Train(milliseconds(0));
  ASSERT_TRUE(story.Until("standby slot=s0/0 state=starting", seconds(5)));
  story.starts.clear();
  story.KillRank(4);
  ASSERT_TRUE(story.Until("epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.starts, IsEmpty()) << story.All();
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s0/0 rank=4 instead_of=n2/0 by=standby")));
}

TEST(Standby, ThatIsStillStartingLeavesADeadRankToBeRestartedInPlace) {
  Story story(Warm(1));
  story.Train(milliseconds(0));
  ASSERT_TRUE(story.Until("standby slot=s0/0 state=starting", seconds(5)));
  story.KillRank(4);
  ASSERT_TRUE(story.Until("epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("replaced"), IsEmpty());
}

TEST(Peers, ThatHoldNoStepTogetherLeaveItToTheCheckpoint) {
  Story story(Warm(1));
  story.Train();
  story.peers_agree = false;
  story.KillRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=3", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("restore_ordered"),
              ElementsAre(HasSubstr("scratch"), HasSubstr("source=peers"), HasSubstr("source=checkpoint step=30")));
  EXPECT_THAT(story.Lines("detected"), SizeIs(1));
}

TEST(Peers, AreNoSourceOnceAWholeShardIsLost) {
  Story story(Warm(1));
  story.Train();
  for (const int rank : {0, 2, 4, 6}) story.KillRank(rank);
  ASSERT_TRUE(story.Until("restored step=30", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=checkpoint step=30"));
}

TEST(Peers, AreNoSourceWhenTheirStateIsSuspected) {
  Story story(Warm(1));
  story.Train();
  story.SuspectBy(4, "replay");
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=checkpoint"));
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("by=standby")));
}

TEST(Restart, APipelineThatStartsAgainKeepsItsStandbys) {
  Story story(Warm(1));
  for (const TopologyNode& node : story.config.topology.nodes) {
    NodeHello hello{node.name, node.slots, node.address, node.spare, 7000, {}};
    const int first = node.name[1] - '0';
    for (int i = 0; !node.spare && i < 2; ++i) hello.trainers.push_back({i, 40 + first * 2 + i, first * 2 + i, 9});
    if (node.name == "s1") hello.trainers.push_back({1, 90, -1, 0});
    story.Give(hello);
  }
  EXPECT_EQ(story.state.stage, Stage::kRun);
  EXPECT_THAT(story.starts, IsEmpty()) << story.All();
  story.Give(Tick{});
  EXPECT_THAT(story.starts, IsEmpty()) << "the one that is there is enough";
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
