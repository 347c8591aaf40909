// What is taken out of service, who takes its place, and which state the job goes on from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shadow_pipeline/story.h"

namespace triodrill::shadow::pipeline {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Isolation, ADeadProcessIsStartedAgainWhereItWasAndNothingIsIsolated) {
  Story story;
  story.Train();
  story.starts.clear();
  story.joins.clear();
  story.KillRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), IsEmpty());
  ASSERT_THAT(story.starts, SizeIs(1));
  EXPECT_EQ(story.starts[0].slot.Name(), "n2/0");
  EXPECT_THAT(story.joins, SizeIs(8));
  EXPECT_THAT(story.kills, IsEmpty()) << "a survivor keeps its process";
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=checkpoint step=30 epoch=2"));
  story.Pass(seconds(2));
  EXPECT_EQ(story.truth.back().event, "resumed");
}

TEST(Isolation, ASecondDeathInTheSameSlotIsolatesItsGpu) {
  Story story;
  story.Train();
  story.KillRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2"));
  story.Pass(seconds(1));
  story.KillRank(4);
  ASSERT_TRUE(story.Until("replaced", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr("slot=n2/0 level=gpu")));
  EXPECT_THAT(story.Lines("replaced"), ElementsAre("replaced slot=s0/0 rank=4 instead_of=n2/0"));
}

TEST(Isolation, AnOldDeathDoesNotCount) {
  Story story;
  story.Train();
  story.KillRank(4);
  story.Pass(seconds(60));
  story.KillRank(4);
  story.Pass(seconds(5));
  EXPECT_THAT(story.Lines("isolated"), IsEmpty()) << story.All();
}

TEST(Isolation, ALostNodeIsFoundWhenWhatIsStartedThereReachesNobody) {
  Story story;
  story.Train();
  story.CutLink("n2");
  story.KillRank(4);
  story.KillRank(5);
  ASSERT_TRUE(story.Until("self_checked bad=n2", seconds(40))) << story.All();
  ASSERT_TRUE(story.Until("replaced slot=s0/1 rank=5 instead_of=n2/1", seconds(20))) << story.All();
  EXPECT_THAT(story.Lines("isolated"),
              ElementsAre(HasSubstr("slot=n2/0 level=node"), HasSubstr("slot=n2/1 level=node")));
  EXPECT_THAT(story.Lines("replaced").front(), "replaced slot=s0/0 rank=4 instead_of=n2/0");
  story.Pass(seconds(20));
  EXPECT_EQ(story.truth.back().event, "resumed") << story.All();
  EXPECT_THAT(story.Lines("returned"), IsEmpty()) << "it is cut off: " << story.All();
}

TEST(Isolation, APausedRankLosesItsSlotAndComesBackAsASpare) {
  Story story;
  story.Train();
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr("slot=n2/0 level=gpu")));
  EXPECT_THAT(story.kills, SizeIs(1));
  ASSERT_TRUE(story.Until("returned slot=n2/0", seconds(10))) << story.All();
  story.Pass(seconds(5));
  EXPECT_THAT(story.Lines("detected"), SizeIs(1)) << story.All();
}

TEST(Isolation, ALinkThatIsDownIsolatesItsNode) {
  Story story;
  story.Train();
  story.CutLink("n2");
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(15))) << story.All();
  EXPECT_THAT(story.Lines("isolated"),
              ElementsAre(HasSubstr("slot=n2/0 level=node"), HasSubstr("slot=n2/1 level=node")));
  EXPECT_THAT(story.Lines("replaced"),
              ElementsAre("replaced slot=s0/0 rank=4 instead_of=n2/0", "replaced slot=s0/1 rank=5 instead_of=n2/1"));
  story.Pass(seconds(20));
  EXPECT_THAT(story.Lines("returned"), IsEmpty()) << "its link is still down";
}

TEST(Isolation, ALostNodeIsIsolatedThoughNothingOfItAnswers) {
  Story story;
  story.Train();
  story.LoseNode("n1");
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("detected"), ElementsAre(HasSubstr("slot=- rank=- node=n1 fault=node_lost")));
  EXPECT_THAT(story.Lines("isolated"), SizeIs(2));
}

TEST(Isolation, ThreeBadNodesAtOnceAwaitAPersonForTheWholeJob) {
  Story story;
  story.Train();
  for (const char* node : {"n1", "n2"}) story.CutLink(node);
  story.config.policy.spec.mutable_isolation()->set_nodes_at_once(1);
  ASSERT_TRUE(story.Until("awaits_confirmation action=isolate_job", seconds(15))) << story.All();
  story.Pass(seconds(5));
  EXPECT_THAT(story.Lines("isolated"), IsEmpty());
  story.Give(Confirmed{});
  ASSERT_TRUE(story.Until("gave_up", seconds(1))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), SizeIs(8));
}

TEST(Isolation, ManyBadNodesOfOneParallelGroupAreIsolatedAsThatGroup) {
  Story story;
  story.config.topology.groups.push_back({"pipeline-a", {{"n1", 0}, {"n1", 1}, {"n2", 0}, {"n2", 1}}});
  story.config.policy.spec.mutable_isolation()->set_nodes_at_once(1);
  story.config.policy.spec.mutable_tiers()->set_isolate_group(v1::AUTO);
  story.Train();
  for (const char* node : {"n1", "n2"}) story.CutLink(node);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(20))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), SizeIs(4));
  EXPECT_EQ(story.Count("level=group"), 4);
}

TEST(Isolation, AProcessThatWillNotDieIsSaidAndGoneAround) {
  Story story;
  story.Train();
  story.immortal.insert(Slot{"n2", 0});
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("does not end", seconds(10))) << story.All();
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(5))) << story.All();
  // Its node is well, but the process still holds the slot's accelerator.
  story.Pass(seconds(20));
  EXPECT_THAT(story.Lines("returned"), IsEmpty()) << story.All();
  story.Give(Exited{Slot{"n2", 0}, story.state.slots[Slot{"n2", 0}].trainer.incarnation, 0, 9});
  ASSERT_TRUE(story.Until("returned slot=n2/0", seconds(10))) << story.All();
}

TEST(Replacement, NoSpareIsSaidAndAwaited) {
  Story story;
  story.config.policy.spec.mutable_spares()->mutable_return_after()->set_seconds(20);
  story.Train();
  for (const char* node : {"s0", "s1"}) story.LoseNode(node);
  story.Pass(seconds(2));
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("awaits_confirmation action=add_spare", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("awaits_confirmation"), SizeIs(1));
  ASSERT_TRUE(story.Until("returned slot=n2/0", seconds(30))) << story.All();
  ASSERT_TRUE(story.Until("restored step=50 epoch=2", seconds(5))) << story.All();
}

TEST(Replacement, ASickSpareIsPassedOver) {
  Story story;
  story.Train();
  story.CutLink("s0");
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("self_checked"), ElementsAre(HasSubstr("bad=s0")));
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s1/0 rank=4")));
}

TEST(Recovery, ACorruptCheckpointIsPassedOverForTheNextOlderOne) {
  Story story;
  story.Train(seconds(5));
  story.corrupt = {story.checkpoints[0], story.checkpoints[1]};
  const int64_t third = story.checkpoints[2];
  story.KillRank(4);
  ASSERT_TRUE(story.Until("epoch=4", seconds(10))) << story.All();
  ASSERT_TRUE(story.Until("restored step=" + std::to_string(third) + " epoch=4", seconds(10))) << story.All();
  EXPECT_EQ(story.Count("is corrupt"), 2);
}

TEST(Recovery, WhenNoCheckpointVerifiesItIsGivenUp) {
  Story story;
  story.Train(seconds(5));
  story.corrupt = {story.checkpoints.begin(), story.checkpoints.end()};
  story.KillRank(4);
  ASSERT_TRUE(story.Until("gave_up detail=\"no checkpoint that is kept verifies\"", seconds(20))) << story.All();
}

TEST(Recovery, BeforeTheFirstCheckpointTrainingBeginsAgain) {
  Story story;
  story.Train(std::chrono::milliseconds(300));
  story.KillRank(4);
  ASSERT_TRUE(story.Until("restore_ordered source=scratch step=0 epoch=2", seconds(5))) << story.All();
}

TEST(Recovery, FromPeersLosesNoStep) {
  Story story;
  story.config.policy.spec.mutable_recovery()->set_source(v1::PEERS);
  story.Train();
  story.KillRank(0);
  const int64_t step = story.state.progress_step;
  ASSERT_TRUE(story.Until("restored step=" + std::to_string(step) + " epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=peers"));
}

// Storage that stalls for ever once idled hundreds of GPUs for hours: the wait is bounded, and memory needs no storage.
TEST(Recovery, WhereTheStorageDoesNotAnswerTheSurvivorsMemoryIsTheWayBack) {
  Story story;
  story.Train();
  story.storage_answers = false;
  story.KillRank(4);
  const int64_t step = story.state.progress_step;
  ASSERT_TRUE(story.Until("checkpoints_unread waited=15000ms", seconds(20))) << story.All();
  ASSERT_TRUE(story.Until("restored step=" + std::to_string(step) + " epoch=2", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("restore_ordered").back(), HasSubstr("source=peers"));
  EXPECT_EQ(story.Count("hung"), 0) << story.All();
  story.Pass(seconds(2));
  EXPECT_GT(story.state.progress_step, step);
}

TEST(Recovery, WhereTheStorageDoesNotAnswerAndMemoryIsInDoubtItIsGivenUpInTime) {
  Story story;
  story.Train();
  story.storage_answers = false;
  story.SuspectBy(4, "gradient-hash");
  ASSERT_TRUE(story.Until("gave_up detail=\"the checkpoints cannot be read, and memory is no way back\"", seconds(30)))
      << story.All();
}

TEST(Recovery, AnAnswerOfAnEarlierLookAtTheCheckpointsIsNoAnswer) {
  Story story;
  story.Train();
  story.storage_answers = false;
  story.KillRank(4);
  ASSERT_TRUE(story.Until("exited", seconds(5)) || story.state.repair.open) << story.All();
  for (int tick = 0; tick < 100 && story.state.repair.reading == 0; ++tick) story.Pass(std::chrono::milliseconds(50));
  const int asked = story.state.repair.reading;
  ASSERT_GT(asked, 0) << story.All();
  story.Give(Checkpoints{asked - 1, {10}});
  story.Pass(seconds(1));
  EXPECT_TRUE(story.Lines("restore_ordered").empty() || story.Count("epoch=2") == 0) << story.All();
  story.Give(Checkpoints{asked, story.checkpoints});
  ASSERT_TRUE(story.Until("restore_ordered source=checkpoint", seconds(2))) << story.All();
}

TEST(Bounds, ACrashLoopEndsInAnIsolationAndThenInGivingUp) {
  Story story;
  story.config.policy.spec.mutable_bounds()->set_max_recoveries(4);
  story.Train();
  for (int i = 0; i < 12 && story.Count("gave_up") == 0; ++i) {
    if (!story.state.placement[4].node.empty() && story.state.stage == Stage::kRun) story.KillRank(4);
    story.Pass(seconds(2));
  }
  EXPECT_EQ(story.Count("gave_up detail=\"5 recoveries"), 1) << story.All();
  EXPECT_GE(story.Lines("isolated").size(), 1u);
}

TEST(Bounds, AJoinThatNeverEndsBlamesWhoDidNotBegin) {
  Story story(Defect::kDeafHeartbeat);  // so that nothing else finds it
  story.Train();
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("by=join", seconds(40))) << story.All();
  ASSERT_TRUE(story.Until("restored step=30", seconds(10))) << story.All();
}

TEST(Tiers, WhatAwaitsConfirmationHaltsAndIsNotDone) {
  Story story;
  story.config.policy.spec.mutable_tiers()->set_isolate_gpu(v1::CONFIRM);
  story.Train();
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("awaits_confirmation action=isolate_gpu", seconds(5))) << story.All();
  story.Pass(seconds(10));
  EXPECT_THAT(story.Lines("isolated"), IsEmpty());
  story.Give(Confirmed{});
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("awaits_confirmation"), SizeIs(1));
}

TEST(Restart, APipelineThatStartsAgainTakesTheJobAsItRuns) {
  Story story;
  for (const TopologyNode& node : story.config.topology.nodes) {
    NodeHello hello{node.name, node.slots, node.address, node.spare, 7000, {}};
    const int first = node.name[1] - '0';
    for (int i = 0; !node.spare && i < 2; ++i) hello.trainers.push_back({i, 40 + first * 2 + i, first * 2 + i, 9});
    story.Give(hello);
  }
  EXPECT_EQ(story.state.stage, Stage::kRun);
  EXPECT_EQ(story.state.epoch, 9);
  EXPECT_THAT(story.starts, IsEmpty());
  // An exit of a process that is no more is old news.
  story.Give(Exited{Slot{"n2", 0}, 3, 0, 9});
  EXPECT_THAT(story.Lines("detected"), IsEmpty()) << story.All();
}

TEST(Restart, ARankThatWentMeanwhileIsFoundMissing) {
  Story story;
  for (const TopologyNode& node : story.config.topology.nodes) {
    NodeHello hello{node.name, node.slots, node.address, node.spare, 7000, {}};
    const int first = node.name[1] - '0';
    for (int i = 0; !node.spare && i < 2; ++i) {
      if (node.name != "n2" || i != 0) hello.trainers.push_back({i, 40 + first * 2 + i, first * 2 + i, 9});
    }
    story.Give(hello);
  }
  EXPECT_THAT(story.Lines("detected"), ElementsAre(AllOf(HasSubstr("slot=- rank=4"), HasSubstr("fault=dead"))));
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
