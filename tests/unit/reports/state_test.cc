// The state check, restarted processes and the count of reports: from the facts to the objective.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/judge/judge.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Fact State(int64_t step, const std::string& hash, const std::string& shard = "0") {
  v1::Fact fact;
  v1::SignalSeen& said = *fact.mutable_signal();
  said.set_signal("state");
  said.set_means(v1::STATE);
  said.set_step(step);
  said.set_shard(shard);
  said.set_hash(hash);
  return fact;
}

v1::Fact Reference(int64_t step, const std::string& hash, const std::string& shard = "0") {
  v1::Fact fact;
  fact.mutable_state_reference()->set_step(step);
  fact.mutable_state_reference()->set_shard(shard);
  fact.mutable_state_reference()->set_hash(hash);
  return fact;
}

// A pipeline that tells its state, and a kill of n2/0 that only n2/0 restarts from; steady after 3.5 s.
class StateCheckTest : public testing::Test {
 protected:
  StateCheckTest() {
    v1::Signal& signal = *story.plan.mutable_pipeline()->mutable_spec()->add_signals();
    signal.set_id("state");
    signal.set_means(v1::STATE);
    story.expect().set_state_check("equal");
    story.Trial().Kill("n2/0").Signal(0.1, v1::DETECTED, "n2/0").Ended(0, "n2/0").Appeared(1, "n2/0").Restored(2, 990);
    story.Run(3, 14, 991);
  }
  const Objective& Asked(const std::string& name) {
    verdict = story.Judged();
    for (const Objective& objective : verdict.objectives) {
      if (objective.name == name) return objective;
    }
    ADD_FAILURE() << "no objective " << name;
    return verdict.objectives.front();
  }
  Story story;
  Verdict verdict;
};

TEST_F(StateCheckTest, IsEqualWhereEveryStateAfterTheRecoveryIs) {
  story.Say(State(1020, "aa"), 9).Say(State(1040, "bb"), 11).End(15);
  story.Say(Reference(1020, "aa"), 15).Say(Reference(1040, "bb"), 15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kPass);
  EXPECT_EQ(story.Measured().trials[0].state.compared, 2);
}

TEST_F(StateCheckTest, FailsAtTheFirstStateThatDiffers) {
  story.Say(State(1020, "aa"), 9).Say(State(1040, "xx"), 11).End(15);
  story.Say(Reference(1020, "aa"), 15).Say(Reference(1040, "bb"), 15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kFail);
  EXPECT_THAT(Asked("state_check").reason, HasSubstr("step 1040, shard 0"));
}

TEST_F(StateCheckTest, ComparesEachShardWithItsOwn) {
  story.Say(State(1020, "aa", "0"), 9).Say(State(1020, "bb", "1"), 9).End(15);
  story.Say(Reference(1020, "aa", "0"), 15).Say(Reference(1020, "bb", "1"), 15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kPass);
}

TEST_F(StateCheckTest, LooksAtNoStateFromBeforeTheRecovery) {
  story.Say(State(1000, "corrupt, and rolled back"), 0.2).Say(State(1020, "aa"), 9).End(15);
  story.Say(Reference(1000, "good"), 15).Say(Reference(1020, "aa"), 15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kPass);
}

TEST_F(StateCheckTest, IsInconclusiveWithoutStatesOrWithoutAReference) {
  story.Say(State(1020, "aa"), 9).End(15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kInconclusive);
  EXPECT_EQ(story.Measured().trials[0].state.answer, StateAnswer::kNoReference);
}

TEST_F(StateCheckTest, IsNotPassedByAPipelineThatTellsNoState) {
  story.plan.mutable_pipeline()->mutable_spec()->clear_signals();
  story.End(15);
  EXPECT_EQ(Asked("state_check").answer, Answer::kInconclusive);
  EXPECT_EQ(story.Measured().trials[0].state.answer, StateAnswer::kNotApplicable);
}

TEST_F(StateCheckTest, OnlyTheOneThatEndedWasRestartedThoughAllWereInterrupted) {
  story.expect().mutable_restarts()->set_at_most(v1::DOMAIN_NODE);
  story.expect().mutable_interruption()->set_at_most(v1::DOMAIN_NODE);
  story.End(15);
  EXPECT_EQ(Asked("restarts.at_most").answer, Answer::kPass);
  EXPECT_EQ(Asked("interruption.at_most").answer, Answer::kFail);
  EXPECT_THAT(story.Measured().trials[0].interruption->restarted, ElementsAre("n2/0"));
}

TEST(Restarts, OfTheWholeJobAreSeen) {
  Story story;
  story.expect().mutable_restarts()->set_at_most(v1::DOMAIN_NODE);
  story.Trial().Kill("n2/0").Signal(0.1, v1::DETECTED, "n2/0").Restart(0.2).Restored(2, 990).Run(3, 14, 991).End(15);
  EXPECT_EQ(story.Judged().objectives[0].answer, Answer::kFail);
  EXPECT_EQ(story.Measured().trials[0].interruption->restart_level, v1::DOMAIN_JOB);
}

TEST(Reports, AreCountedWhomeverTheyName) {
  Story story;
  story.expect().mutable_reports()->set_max(0);
  story.Trial().Pause("n2/0", "for", 1).Withdraw(1).Signal(0.6, v1::DETECTED, "n1/0").Run(1.1, 14, 1001).End(15);
  EXPECT_EQ(story.Measured().trials[0].reports, 1);
  EXPECT_EQ(story.Judged().objectives[0].answer, Answer::kFail);
}

TEST(Reports, NoneIsWithinTheBoundOfNone) {
  Story story;
  story.expect().mutable_reports()->set_max(0);
  story.Trial().Pause("n2/0", "for", 1).Withdraw(1).Run(1.1, 14, 1001).End(15);
  EXPECT_EQ(story.Judged().objectives[0].answer, Answer::kPass);
}

// A flip of a gradient that nobody reported.
class Masking : public testing::Test {
 protected:
  Masking() {
    v1::Signal& signal = *story.plan.mutable_pipeline()->mutable_spec()->add_signals();
    signal.set_id("state");
    signal.set_means(v1::STATE);
    *story.expect().mutable_detection_latency()->mutable_max() = Lasting(5);
    story.Trial().Broken("tensor.flip", "n2/0").Run(0.1, 14, 1001);
  }
  Story story;
};

TEST_F(Masking, AFlipThatLeftNoTraceIsNotCounted) {
  story.Say(State(1020, "aa"), 2).End(15).Say(Reference(1020, "aa"), 15);
  const Trio trio = story.Measured();
  EXPECT_TRUE(trio.trials[0].masked);
  EXPECT_EQ(trio.detection_latency.n, 0);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.objectives[0].answer, Answer::kInconclusive);
  EXPECT_THAT(verdict.objectives[0].reason, HasSubstr("masked"));
}

TEST_F(Masking, AFlipThatShowedInAnyStateIsMissedAndCounted) {
  story.Say(State(1020, "xx"), 2).End(15).Say(Reference(1020, "aa"), 15);
  EXPECT_FALSE(story.Measured().trials[0].masked);
  EXPECT_EQ(story.Judged().objectives[0].answer, Answer::kFail);
}

TEST_F(Masking, AFlipOfWhichNoStateWasComparedIsCounted) {
  story.End(15);
  EXPECT_FALSE(story.Measured().trials[0].masked);
}

TEST_F(Masking, AFlipThatWasReportedIsCounted) {
  story.Signal(0.3, v1::DETECTED, "n2/0").Say(State(1020, "aa"), 2).End(15).Say(Reference(1020, "aa"), 15);
  EXPECT_FALSE(story.Measured().trials[0].masked);
  EXPECT_EQ(story.Judged().objectives[0].answer, Answer::kPass);
}

}  // namespace
}  // namespace triodrill
