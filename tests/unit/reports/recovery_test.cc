#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/measure/measure.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

MATCHER_P(IsAbout, seconds, "") {
  return Seconds(arg.min) <= seconds && seconds <= Seconds(arg.max) && Seconds(arg.max - arg.min) < 0.005;
}

TrialTrio Only(Story& story) {
  const Trio trio = story.Measured();
  EXPECT_EQ(trio.trials.size(), 1u);
  return trio.trials.at(0);
}

// ---------------------------------------------------------------- kill, whole job restarts

class KillThatRestartsTheJob : public ::testing::Test {
 protected:
  // Killed at step 1000, restored at 990, first new step 991 at 5.5 s, past 1000 at 6.5 s.
  TrialTrio Told() {
    Story story;
    story.Trial()
        .Kill("n2/0")
        .Signal(2.1, v1::DETECTED, "n2/0")
        .Restart(2.2)
        .Restored(5, 990)
        .Run(5.5, 16, 991)
        .End(17);
    return Only(story);
  }
};

TEST_F(KillThatRestartsTheJob, RecoversWithTheFirstStepPastTheHighWaterMark) {
  const TrialTrio trial = Told();
  EXPECT_EQ(trial.high_water_step, 1000);
  ASSERT_TRUE(trial.recovery->seen);
  EXPECT_THAT(*trial.recovery->seen, IsAbout(6.5));
  EXPECT_FALSE(trial.not_interrupted);
}

TEST_F(KillThatRestartsTheJob, InterruptsTheJobAndEvictsNobody) {
  const TrialTrio trial = Told();
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
  EXPECT_THAT(trial.interruption->interrupted, ElementsAre("n0/0", "n1/0", "n2/0"));
  EXPECT_EQ(trial.interruption->share, 1);
  EXPECT_EQ(trial.isolation->basis, Basis::kOutcome);
  EXPECT_EQ(trial.isolation->level, v1::DOMAIN_NONE);
  EXPECT_EQ(trial.isolation->recall, 0);
  EXPECT_EQ(trial.isolation->precision, std::nullopt);
  EXPECT_THAT(trial.isolation->missed, ElementsAre("n2/0"));
  EXPECT_EQ(trial.capacity, 1);
}

TEST_F(KillThatRestartsTheJob, HasItsMilestonesInOrder) {
  const Milestones milestones = Told().milestones;
  EXPECT_THAT(*milestones.detected, IsAbout(2.1));
  EXPECT_THAT(*milestones.restored, IsAbout(5));
  EXPECT_THAT(*milestones.resumed, IsAbout(5.5));
  EXPECT_THAT(*milestones.caught_up, IsAbout(6.5));
  EXPECT_THAT(*milestones.steady, IsAbout(6.5));
  EXPECT_FALSE(milestones.isolated);
  EXPECT_FALSE(milestones.replaced);
}

TEST_F(KillThatRestartsTheJob, LosesTheStepsSinceTheCheckpoint) {
  const TrialTrio trial = Told();
  EXPECT_EQ(trial.restored_step, 990);
  EXPECT_EQ(trial.steps_lost, 10);
}

TEST_F(KillThatRestartsTheJob, CoversDetectAndRecoverOnly) {
  const TrialTrio trial = Told();
  EXPECT_EQ(trial.coverage.at("detect").coverage, Coverage::kSeen);
  EXPECT_EQ(trial.coverage.at("isolate").coverage, Coverage::kNotSeen);
  EXPECT_EQ(trial.coverage.at("replace").coverage, Coverage::kNotSeen);
  EXPECT_EQ(trial.coverage.at("recover").coverage, Coverage::kSeen);
}

TEST_F(KillThatRestartsTheJob, IsEffectiveForTheTimeOfItsNewSteps) {
  // 95 new steps at 10/s in 17 s.
  EXPECT_NEAR(*Told().effective_time_ratio, 9.5 / 17, 0.01);
}

TEST(StepsLost, AreReadOffTheProgressWhereNobodySaysWhatWasRestored) {
  Story story;
  story.Trial().Kill("n2/0").Restart(2.2).Run(5.5, 16, 991).End(17);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.restored_step, 990);
  EXPECT_EQ(trial.steps_lost, 10);
}

TEST(StepsLost, TakeTheOldestOfSeveralRestores) {
  Story story;
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 990).Restart(6).Restored(8, 980).Run(9, 20, 981).End(21);
  EXPECT_EQ(Only(story).steps_lost, 20);
}

TEST(StepsLost, AreUnknownWhereTheJobNeverWentOn) {
  Story story;
  story.Trial().Kill("n2/0").Ended(0.1, "n0/0").Ended(0.1, "n1/0").End(100);
  EXPECT_EQ(Only(story).steps_lost, std::nullopt);
}

TEST(HighWater, CountsAStepThatMayHaveBeenMadeBeforeTheOnset) {
  Story story;
  story.Trial().Kill("n2/0").Step(0.01, "n0/0", 1001, 0.05).Restart(2.2).Restored(5, 990).Run(5.5, 17, 991).End(18);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.high_water_step, 1001);
  EXPECT_EQ(trial.steps_lost, 11);
}

TEST(Recovery, IsNotAStepThatWasInFlightWhenTheFaultLanded) {
  Story story;
  story.Trial().Kill("n2/0").Step(0.05, "n0/0", 1001).Step(0.05, "n1/0", 1001);
  story.Restart(2.2).Restored(5, 990).Run(5.5, 17, 991).End(18);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.high_water_step, 1000);
  EXPECT_THAT(*trial.recovery->seen, IsAbout(6.5));
  EXPECT_THAT(*trial.milestones.caught_up, IsAbout(6.5));
}

TEST(Recovery, WaitsUntilTheRateIsBackToTheta) {
  Story story;  // 9.4 steps/s are less than 95% of 10, 9.6 are more
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 999).Run(5.5, 25.5, 1000, 9.4).Run(25.5, 40, 1188, 9.6).End(41);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.recovery->seen);
  EXPECT_GT(Seconds(trial.recovery->seen->min), 20);
  EXPECT_LT(Seconds(trial.recovery->seen->max), 25.6);
}

TEST(Recovery, AtExactlyThetaCounts) {
  Story story;
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 1000).Run(5.5, 30, 1001, 9.5).End(31);
  EXPECT_FALSE(Only(story).recovery->censored());
}

TEST(Recovery, NeedsTenStepsEvenIfTheyTakeLongerThanFiveSeconds) {
  Story story(0.5);  // a step every two seconds: ten steps are twenty seconds
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 1000).Run(8, 25, 1001).End(25);
  EXPECT_TRUE(Only(story).recovery->censored());
  Story longer(0.5);
  longer.Trial().Kill("n2/0").Restart(2.2).Restored(5, 1000).Run(8, 40, 1001).End(41);
  EXPECT_THAT(*Only(longer).recovery->seen, IsAbout(8));
}

TEST(Recovery, LaterThanTheDeadlineIsCensoredThere) {
  Story story;
  *story.plan.mutable_drill()->mutable_spec()->mutable_deadline()->mutable_recovery() = Lasting(6);
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.recovery->censored());
  EXPECT_EQ(trial.recovery->censored_at, Nanos(6'000'000'000));
  EXPECT_EQ(trial.coverage.at("recover").coverage, Coverage::kNotSeen);
}

TEST(Recovery, ThatTheTrialCutOffIsCensoredWhereItMayHaveBegun) {
  Story story;  // past the high-water step at 6.5 s, and the trial ends two seconds later
  story.Trial().Kill("n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 8.4, 991).End(8.5);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.recovery->censored());
  EXPECT_NEAR(Seconds(trial.recovery->censored_at), 6.5, 0.01);
}

TEST(Recovery, OfAJobThatNeverWentOnIsCensoredAtTheEndOfTheTrial) {
  Story story;
  story.Trial().Kill("n2/0").Ended(0.1, "n0/0").Ended(0.1, "n1/0").End(100);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.recovery->censored());
  EXPECT_NEAR(Seconds(trial.recovery->censored_at), 100, 0.01);
  EXPECT_EQ(trial.isolation->basis, Basis::kUnknown);
  EXPECT_EQ(trial.isolation->recall, std::nullopt);
  EXPECT_EQ(trial.capacity, std::nullopt);
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
}

TEST(Recovery, IgnoresACalmBeforeALateInterruption) {
  Story story;  // the daemon dies, the job trains on for 25 s and is then killed and requeued
  story.Trial()
      .Pause("n2/0", "for", 2)
      .Withdraw(2)
      .Run(0, 25, 1001)
      .Restart(25)
      .Restored(60, 1240)
      .Run(61, 80, 1241)
      .End(81);
  const TrialTrio trial = Only(story);
  EXPECT_FALSE(trial.not_interrupted);
  ASSERT_TRUE(trial.recovery->seen);
  EXPECT_NEAR(Seconds(trial.recovery->seen->min), 61, 0.15);
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
}

// ---------------------------------------------------------------- eviction

TEST(Isolation, OfAShrunkenJobIsTheNodeThatServesNoMore) {
  Story story;
  const std::vector<std::string> rest = {"n0/0", "n1/0"};
  story.Trial().LinkDown("n2", "until", 120).Signal(20, v1::DETECTED, "n2").Ended(25, "n0/0").Ended(25, "n1/0");
  story.Appeared(26, "n0/0").Appeared(26, "n1/0").Restored(44, 990).Run(45, 60, 991, 10, rest).Withdraw(61).End(62);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.isolation->level, v1::DOMAIN_NODE);
  EXPECT_THAT(trial.isolation->evicted, ElementsAre("n2/0"));
  EXPECT_EQ(trial.isolation->precision, 1);
  EXPECT_EQ(trial.isolation->recall, 1);
  EXPECT_NEAR(*trial.capacity, 2.0 / 3, 1e-9);
  EXPECT_THAT(*trial.recovery->seen, IsAbout(46)) << "before the withdrawal, so it counts";
  EXPECT_EQ(trial.coverage.at("isolate").coverage, Coverage::kSeen);
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB) << "the evicted stopped too";
}

TEST(Isolation, CountsInnocentsAsCollateral) {
  Story story;
  story.Nodes(3, 2)
      .Trial()
      .Kill("n2/0")
      .Restart(2)
      .Restored(5, 1000)
      .Run(6, 20, 1001, 10, {"n0/0", "n0/1", "n1/0", "n1/1"})
      .End(21);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.isolation->level, v1::DOMAIN_NODE);
  EXPECT_EQ(trial.isolation->precision, 0.5);
  EXPECT_EQ(trial.isolation->recall, 1);
  EXPECT_THAT(trial.isolation->collateral, ElementsAre("n2/1"));
}

TEST(Isolation, IsWhatHappenedNotWhatWasSaid) {
  Story story;
  story.Trial().Kill("n2/0").Signal(3, v1::ISOLATED, "n2").Restart(3).Restored(5, 1000).Run(6, 20, 1001).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_THAT(trial.isolation->evicted, IsEmpty());
  EXPECT_EQ(trial.isolation->recall, 0);
  EXPECT_THAT(*trial.milestones.isolated, IsAbout(3));
}

TEST(Isolation, IsWhatWasSaidWhereTheJobNeverRecovered) {
  Story story;
  story.Trial().Kill("n2/0").Signal(3, v1::ISOLATED, "n2").Ended(3, "n0/0").Ended(3, "n1/0").End(100);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.isolation->basis, Basis::kReported);
  EXPECT_THAT(trial.isolation->evicted, ElementsAre("n2/0"));
}

TEST(Replacement, IsASpareThatTakesOver) {
  Story story;
  story.Nodes(4, 1).Spare("n3/0").Trial().Kill("n2/0").Restart(2).Appeared(4, "n3/0").Restored(5, 1000);
  story.Run(6, 20, 1001, 10, {"n0/0", "n1/0", "n3/0"}).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_THAT(trial.isolation->evicted, ElementsAre("n2/0"));
  EXPECT_EQ(trial.capacity, 1);
  EXPECT_THAT(*trial.milestones.replaced, IsAbout(6));
  EXPECT_EQ(trial.coverage.at("replace").coverage, Coverage::kSeen);
}

TEST(Coverage, KnowsWhatThePipelineDoesNotHave) {
  Story story;
  story.plan.mutable_pipeline()->mutable_spec()->add_not_applicable("replace");
  story.plan.mutable_pipeline()->mutable_spec()->add_not_applicable("detect");
  story.Trial().Kill("n2/0").Signal(2, v1::DETECTED).Restart(2).Restored(5, 1000).Run(6, 20, 1001).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.coverage.at("replace").coverage, Coverage::kNotApplicable);
  EXPECT_EQ(trial.coverage.at("detect").coverage, Coverage::kSeen) << "what was seen was seen";
}

// ---------------------------------------------------------------- pause, link, straggler

TEST(Pause, ThatOnlyOurWithdrawalEndsIsNotRecovered) {
  Story story;
  story.Trial().Pause("n2/0", "until", 20).Withdraw(20).Run(20.1, 40, 1001).End(41);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.recovery->censored());
  EXPECT_NEAR(Seconds(trial.recovery->censored_at), 20, 0.002);
  EXPECT_EQ(trial.recovery->why_censored, "not steady again before the fault was withdrawn");
  EXPECT_THAT(*trial.steady_after_withdrawal, IsAbout(0.1));
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
  EXPECT_EQ(trial.steps_lost, 0);
  EXPECT_THAT(*trial.milestones.resumed, IsAbout(20.1));
  EXPECT_EQ(trial.isolation->level, v1::DOMAIN_NONE);
}

TEST(Pause, ThatThePipelineIsolatedIsRecoveredThoughItWasWithdrawnFirst) {
  Story story;
  story.Trial().Pause("n2/0", "until", 60).Signal(9, v1::DETECTED, "n2").Signal(10, v1::ISOLATED, "n2").Withdraw(10.5);
  story.Restart(11).Restored(14, 990).Run(15, 30, 991, 10, {"n0/0", "n1/0"}).End(31);
  const TrialTrio trial = Only(story);
  EXPECT_FALSE(trial.recovery->censored());
  EXPECT_THAT(trial.isolation->evicted, ElementsAre("n2/0"));
}

TEST(Pause, OfATransientFaultIsRecoveredByItsEnd) {
  Story story;
  story.Trial().Pause("n2/0", "for", 10).Withdraw(10).Run(10.1, 30, 1001).End(31);
  EXPECT_THAT(*Only(story).recovery->seen, IsAbout(10.1));
}

TEST(Pause, EndedByTheLeaseIsNotRecovered) {
  Story story;
  story.Trial().Pause("n2/0", "for", 30).Withdraw(10, true, "lease").Run(10.1, 30, 1001).End(31);
  EXPECT_TRUE(Only(story).recovery->censored());
}

TEST(LinkDown, StallsTheJobUntilTcpTriesAgain) {
  Story story;
  story.Trial().LinkDown("n2", "for", 10).Withdraw(10).Run(13.3, 30, 1001).End(31);
  const TrialTrio trial = Only(story);
  EXPECT_THAT(*trial.recovery->seen, IsAbout(13.3));
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
  EXPECT_THAT(*trial.milestones.resumed, IsAbout(13.3));
  EXPECT_EQ(trial.steps_lost, 0);
}

TEST(Straggler, SlowsTheJobAndInterruptsNobody) {
  Story story;
  story.Trial().Throttle("n2/0", "until", 20).Run(0.1, 20, 1001, 6).Withdraw(20).Run(20.1, 40, 1121).End(41);
  const TrialTrio trial = Only(story);
  EXPECT_THAT(trial.interruption->interrupted, IsEmpty());
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_NONE);
  EXPECT_FALSE(trial.not_interrupted) << "it was slower";
  ASSERT_TRUE(trial.recovery->censored());
  EXPECT_NEAR(Seconds(trial.recovery->censored_at), 20, 0.002);
  ASSERT_TRUE(trial.steady_after_withdrawal);
  EXPECT_LT(Seconds(trial.steady_after_withdrawal->max), 0.3);
  EXPECT_FALSE(trial.milestones.resumed);
}

TEST(Straggler, ThatHurtsNobodySaysSo) {
  Story story;
  story.Trial().Throttle("n2/0", "until", 20).Run(0.1, 40, 1001).Withdraw(20).End(41);
  const TrialTrio trial = Only(story);
  EXPECT_TRUE(trial.not_interrupted);
  EXPECT_THAT(*trial.recovery->seen, IsAbout(0.1));
}

TEST(Straggler, DoesNotRecoverInAWindowOnBothSidesOfItsWithdrawal) {
  Story story;  // slow until 3 s: a window across the withdrawal would be fast enough at theta 0.5
  story.plan.mutable_pipeline()->mutable_spec()->mutable_baseline()->set_theta(0.5);
  story.Trial().Throttle("n2/0", "until", 3).Run(0.1, 3, 1001, 4).Withdraw(3).Run(3.1, 20, 1013).End(21);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.not_interrupted || trial.recovery->censored());
}

TEST(Interruption, IsAGapOfTwoSecondsOrTenSteps) {
  Story brief;
  brief.Trial().LinkDown("n2", "for", 1).Withdraw(1).Run(1.9, 20, 1001).End(21);
  EXPECT_THAT(Only(brief).interruption->interrupted, IsEmpty());
  Story longer;
  longer.Trial().LinkDown("n2", "for", 1).Withdraw(1).Run(2.1, 20, 1001).End(21);
  EXPECT_EQ(Only(longer).interruption->interrupted.size(), 3u);
  Story slow(1);  // ten steps of one second
  slow.Trial().LinkDown("n2", "for", 1).Withdraw(1).Run(8, 40, 1001).End(41);
  EXPECT_THAT(Only(slow).interruption->interrupted, IsEmpty());
}

TEST(Interruption, OfOneSlotLeavesTheOthersOut) {
  Story story;
  story.Nodes(1, 3).Trial().Kill("n0/2").Run(0.1, 20, 1001, 10, {"n0/0", "n0/1"}).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_THAT(trial.interruption->interrupted, ElementsAre("n0/2"));
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_GPU);
  EXPECT_EQ(trial.isolation->level, v1::DOMAIN_GPU);
}

TEST(Interruption, IsSeenInARankThatReportsNoProgress) {
  Story story;  // only rank 0 logs its steps, the others are known by their processes
  story.Spare("n1/0").Spare("n2/0").Trial().Appeared(-7, "n1/0").Appeared(-7, "n2/0").Kill("n2/0");
  story.Ended(2, "n0/0").Ended(2, "n1/0").Appeared(3, "n0/0").Appeared(3, "n1/0").Appeared(3, "n2/0").Restored(5, 990);
  story.Run(5.5, 20, 991).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.interruption->interrupted.size(), 3u);
  EXPECT_EQ(trial.interruption->level, v1::DOMAIN_JOB);
  EXPECT_EQ(trial.interruption->share, 1);
}

TEST(Interruption, KnowsAProcessThatAppearedInAnEarlierTrial) {
  Story story;  // rank 2 never logs a step; its process is as old as the run
  story.Spare("n2/0").Trial().Appeared(-7, "n2/0").Kill("n0/0").Run(1, 12, 1001).End(13);
  story.Trial().Kill("n2/0").Run(0.1, 12, 1001).End(13);
  const TrialTrio second = story.Measured().trials.at(1);
  EXPECT_THAT(second.members, ElementsAre("n0/0", "n1/0", "n2/0"));
  EXPECT_THAT(second.interruption->interrupted, ElementsAre("n2/0"));
}

}  // namespace
}  // namespace triodrill
