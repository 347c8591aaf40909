#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/measure/measure.h"
#include "reports/measure/topology.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

// The interval holds this many seconds and is no wider than a few milliseconds.
MATCHER_P(IsAbout, seconds, "") {
  return Seconds(arg.min) <= seconds && seconds <= Seconds(arg.max) && Seconds(arg.max - arg.min) < 0.005;
}

TrialTrio Only(Story& story) {
  const Trio trio = story.Measured();
  EXPECT_EQ(trio.trials.size(), 1u);
  return trio.trials.at(0);
}

// A kill with a restart of the whole job, as torchrun does it.
Story& RestartAfterKill(Story& story) { return story.Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17); }

// ---------------------------------------------------------------- landing

TEST(Landing, IsTheOriginOfAllTimes) {
  Story story;
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0");
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_TRUE(trial.valid) << ::testing::PrintToString(trial.problems);
  ASSERT_TRUE(trial.landed);
  EXPECT_EQ(trial.landed->Width(), Nanos(1'000'000));
  ASSERT_TRUE(trial.detection->seen);
  EXPECT_THAT(*trial.detection->seen, IsAbout(2.1));
  EXPECT_EQ(trial.detection->seen->max - trial.detection->seen->min, Nanos(2'000'000)) << "both errors add up";
}

TEST(Landing, NotSeenMakesTheTrialInvalid) {
  Story story;
  story.Trial().Armed("process.kill", "n2/0").Signal(2.1, v1::DETECTED, "n2/0").Run(0, 10, 1001).End(10);
  const TrialTrio trial = Only(story);
  EXPECT_FALSE(trial.valid);
  EXPECT_THAT(trial.problems, ElementsAre(HasSubstr("no landing seen")));
  EXPECT_FALSE(trial.detection);
}

TEST(Landing, ThatFailedMakesTheTrialInvalid) {
  Story story;
  story.Trial().Armed("process.kill", "n2/0").Fail("missed", "received 12 ms too late").Run(0, 10, 1001).End(10);
  const TrialTrio trial = Only(story);
  EXPECT_FALSE(trial.valid);
  EXPECT_THAT(trial.problems, ElementsAre(HasSubstr("received 12 ms too late")));
  EXPECT_EQ(trial.undo, UndoState::kNothingToUndo);
}

TEST(Landing, OfAShotThatThePlanHasNotFiredIsMissed) {
  Story story;
  story.Trial().Kill("n2/0");
  v1::Shot& second = *story.plan.mutable_trials(0)->add_shots();
  second.set_fault_id("second");
  second.set_kind("link.down");
  EXPECT_THAT(Only(RestartAfterKill(story)).problems, ElementsAre(HasSubstr("shot 1.second.0: no landing seen")));
}

TEST(Trial, ThatDidNotEndIsInvalid) {
  Story story;
  story.Trial().Kill("n2/0").Run(5.5, 16, 991).WriterDies();
  EXPECT_THAT(Only(story).problems, ElementsAre("it did not end"));
}

TEST(Trial, ThatTheConductorGaveUpIsInvalid) {
  Story story;
  story.Trial().Kill("n2/0").End(20, false, "an agent was lost");
  EXPECT_THAT(Only(story).problems, ElementsAre("an agent was lost"));
}

TEST(Trial, WithAReportBeforeTheFaultIsContaminated) {
  Story story;
  story.Trial().Signal(-0.3, v1::DETECTED, "n1").Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0");
  EXPECT_THAT(Only(RestartAfterKill(story)).problems, ElementsAre(HasSubstr("contaminated")));
}

TEST(Trial, IsNotContaminatedByWhatCameBeforeItsBaseline) {
  Story story;
  story.Trial().Signal(-5, v1::DETECTED, "n1").Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0");
  EXPECT_TRUE(Only(RestartAfterKill(story)).valid);
}

// ---------------------------------------------------------------- detection

TEST(Detection, TakesTheFirstReportThatNamesTheFaultedOrNobody) {
  Story story;
  story.Trial()
      .Kill("n2/0")
      .Signal(1.5, v1::DETECTED, "n0/0")
      .Signal(2.1, v1::DETECTED)
      .Signal(3, v1::DETECTED, "n2/0");
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_THAT(*trial.detection->seen, IsAbout(2.1));
  EXPECT_EQ(trial.detected_by->naming, Naming::kUnattributed);
  EXPECT_EQ(trial.first_report->naming, Naming::kNeighbour);
  EXPECT_EQ(trial.first_report->named, "n0/0");
  ASSERT_EQ(trial.misattributed.size(), 1u);
  EXPECT_THAT(trial.misattributed[0].since_onset, IsAbout(1.5));
}

TEST(Detection, ThatNamesTheNodeOfTheFaultedSlotCounts) {
  Story story;
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2");
  EXPECT_EQ(Only(RestartAfterKill(story)).detected_by->naming, Naming::kFaulted);
}

TEST(Detection, IsNotMisledByANameThatOnlyBeginsAlike) {
  Story story;
  story.Trial()
      .Kill("n2/0")
      .Signal(2.1, v1::DETECTED, "n")
      .Signal(2.2, v1::DETECTED, "n20")
      .Signal(2.3, v1::DETECTED, "n2/");
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_TRUE(trial.detection->censored());
  EXPECT_EQ(trial.misattributed.size(), 3u);
}

TEST(Detection, OfALinkMayNameAnySlotOfTheNode) {
  Story story;
  story.Nodes(2, 2)
      .Trial()
      .LinkDown("n1", "for", 5)
      .Signal(2, v1::DETECTED, "n1/1")
      .Withdraw(5)
      .Run(6, 20, 1001)
      .End(21);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.detected_by->naming, Naming::kFaulted);
  EXPECT_THAT(trial.isolation->faulted, ElementsAre("n1/0", "n1/1"));
}

TEST(Detection, IsNeverASymptom) {
  Story story;
  story.Trial().Kill("n2/0").Signal(0.06, v1::SYMPTOM, "n2").Signal(0.07, v1::SYMPTOM);
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_TRUE(trial.detection->censored());
  EXPECT_THAT(trial.first_symptom->since_onset, IsAbout(0.06));
  EXPECT_EQ(trial.first_symptom->naming, Naming::kFaulted);
  EXPECT_EQ(trial.symptoms, 2);
}

TEST(Detection, ThatMayHaveComeBeforeTheOnsetBeginsAtZero) {
  Story story;
  story.Trial().Kill("n2/0").Signal(0.1, v1::DETECTED, "n2/0", 0.4);
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_TRUE(trial.valid);
  EXPECT_EQ(trial.detection->seen->min, Nanos(0));
  EXPECT_NEAR(Seconds(trial.detection->seen->max), 0.3, 0.002);
}

TEST(Detection, FromTwoSourcesIsNoEarlierThanEitherCanHaveBeen) {
  Story story;  // a poll that saw it between 1 and 3 s, a log line at 2.5 s
  story.Trial().Kill("n2/0").Signal(2.5, v1::DETECTED, "n2/0").Signal(2, v1::DETECTED, "n2/0", 2);
  const TrialTrio trial = Only(RestartAfterKill(story));
  EXPECT_NEAR(Seconds(trial.detection->seen->min), 1, 0.002);
  EXPECT_NEAR(Seconds(trial.detection->seen->max), 2.5, 0.002);
}

TEST(Detection, IsFoundByItsInstantNotByItsPlaceInTheFile) {
  Story story;
  story.Trial().Signal(2.1, v1::DETECTED, "n2/0").Kill("n2/0");
  EXPECT_THAT(*Only(RestartAfterKill(story)).detection->seen, IsAbout(2.1));
}

TEST(Detection, IsCensoredAtTheDeadline) {
  Story story;
  *story.plan.mutable_drill()->mutable_spec()->mutable_deadline()->mutable_detection() = Lasting(4);
  story.Trial().Kill("n2/0").Signal(4.2, v1::DETECTED, "n2/0");
  const TrialTrio trial = Only(RestartAfterKill(story));
  ASSERT_TRUE(trial.detection->censored());
  EXPECT_EQ(trial.detection->censored_at, Nanos(4'000'000'000));
  EXPECT_EQ(trial.uncredited.size(), 1u);
}

TEST(Detection, ThatStraddlesTheDeadlineKeepsItsInterval) {
  Story story;
  *story.plan.mutable_drill()->mutable_spec()->mutable_deadline()->mutable_detection() = Lasting(4);
  story.Trial().Kill("n2/0").Signal(4, v1::DETECTED, "n2/0", 0.2);
  EXPECT_FALSE(Only(RestartAfterKill(story)).detection->censored());
}

TEST(Detection, IsCensoredWhereTheTrialEndedBeforeTheDeadline) {
  Story story;
  story.Trial().Kill("n2/0");
  const TrialTrio trial = Only(RestartAfterKill(story));
  ASSERT_TRUE(trial.detection->censored());
  EXPECT_NEAR(Seconds(trial.detection->censored_at), 17, 0.002);
  EXPECT_EQ(trial.detection->why_censored, "no report before the trial ended");
}

TEST(Detection, AfterAHeldFaultWasWithdrawnIsNotCredited) {
  Story story;
  story.Trial().Pause("n2/0", "until", 20).Withdraw(20).Signal(21, v1::DETECTED, "n2/0").Run(20.1, 40, 1001).End(41);
  const TrialTrio trial = Only(story);
  ASSERT_TRUE(trial.detection->censored());
  EXPECT_NEAR(Seconds(trial.detection->censored_at), 20, 0.002);
  EXPECT_EQ(trial.detection->why_censored, "no report before the fault was withdrawn");
  EXPECT_EQ(trial.uncredited.size(), 1u);
  EXPECT_EQ(trial.coverage.at("detect").coverage, Coverage::kNotSeen);
}

TEST(Detection, OfATransientFaultMayComeAfterItsEnd) {
  Story story;
  story.Trial().LinkDown("n2", "for", 5).Withdraw(5).Signal(7, v1::DETECTED, "n2").Run(6, 20, 1001).End(21);
  EXPECT_THAT(*Only(story).detection->seen, IsAbout(7));
}

// ---------------------------------------------------------------- sham

TEST(ShamTrial, CountsEveryReportAsAFalseAlarm) {
  Story story;
  story.Sham().Run(0, 10, 1001).Signal(3, v1::DETECTED, "n1").Signal(4, v1::DETECTED).Signal(5, v1::SYMPTOM).End(10);
  story.Sham().Run(0, 10, 1001).End(10);
  const Trio trio = story.Measured();
  EXPECT_TRUE(trio.trials[0].valid);
  EXPECT_EQ(trio.trials[0].false_alarms.size(), 2u);
  EXPECT_THAT(trio.trials[1].false_alarms, IsEmpty());
  EXPECT_EQ(trio.sham_trials, 2);
  EXPECT_EQ(trio.false_alarms, 2);
  EXPECT_FALSE(trio.trials[0].detection);
}

TEST(ShamTrial, OfADrillWithoutFaultsHasALandingOfNoShot) {
  Story story;
  for (int i = 0; i < 2; ++i) {
    story.Sham();
    story.plan.mutable_trials(i)->clear_shots();
    story.Run(0, 10, 1001).Signal(3, v1::DETECTED).End(10);
  }
  Timeline told = story.Told();
  for (v1::Fact& fact : told.facts) {
    if (fact.has_landed()) fact.mutable_landed()->clear_shot();
  }
  const Trio trio = Measure(story.plan, told);
  EXPECT_EQ(trio.sham_trials, 2) << ::testing::PrintToString(trio.trials.at(1).problems);
  EXPECT_EQ(trio.false_alarms, 2);
}

TEST(ShamTrial, InWhichSomethingLandedIsInvalid) {
  Story story;
  story.Sham();
  v1::Fact fact;
  fact.mutable_landed()->set_shot("1.other.0");
  fact.mutable_landed()->set_node("n1");
  story.Say(fact, 0.1).Run(0, 10, 1001).End(10);
  EXPECT_FALSE(Only(story).valid);
}

// ---------------------------------------------------------------- undo

TEST(Undo, OfAKilledProcessIsNothing) {
  Story story;
  story.Trial().Kill("n2/0");
  EXPECT_EQ(Only(RestartAfterKill(story)).undo, UndoState::kNothingToUndo);
}

TEST(Undo, MayBeConfirmedAfterItsTrialHasEnded) {
  Story story;
  story.Trial().LinkDown("n2", "for", 5).Run(6, 20, 1001).End(21).Withdraw(22);
  EXPECT_EQ(Only(story).undo, UndoState::kConfirmed);
}

TEST(Undo, ThatNobodyConfirmedIsOpen) {
  Story story;
  story.Trial().LinkDown("n2", "for", 5).Run(6, 20, 1001).End(21);
  const TrialTrio trial = Only(story);
  EXPECT_EQ(trial.undo, UndoState::kNotConfirmed);
  ASSERT_EQ(trial.open_undos.size(), 1u);
  EXPECT_EQ(trial.open_undos[0].by_hand, "undo it by hand");
}

TEST(Undo, ThatWasArmedAndNeverHeardOfAgainIsOpen) {
  Story story;
  story.Trial().Armed("link.down", "n2/0").WriterDies();
  EXPECT_EQ(Only(story).undo, UndoState::kNotConfirmed);
}

TEST(Undo, IsJudgedByTheLastWord) {
  Story story;
  story.Trial().LinkDown("n2", "for", 5).Withdraw(5, false).Withdraw(9, true).Run(10, 20, 1001).End(21);
  EXPECT_EQ(Only(story).undo, UndoState::kConfirmed);
}

TEST(Undo, OfAShotThatNoTrialKnowsIsStray) {
  Story story;
  story.Trial().Kill("n2/0");
  RestartAfterKill(story);
  v1::Fact fact;
  fact.mutable_reverted()->set_shot("9.other.0");
  fact.mutable_reverted()->set_node("n1");
  story.Say(fact, 18);
  const Trio trio = story.Measured();
  ASSERT_EQ(trio.stray_undos.size(), 1u);
  EXPECT_EQ(trio.stray_undos[0].node, "n1");
}

// ---------------------------------------------------------------- topology

v1::PartitionSpec TwoRacks() {
  Story story;
  story.Nodes(4, 2);
  v1::PartitionSpec partition = story.plan.partition().spec();
  for (int rack = 0; rack < 2; ++rack) {
    v1::Group& group = *partition.add_topology();
    group.set_name(rack == 0 ? "rack0" : "rack1");
    group.set_level(v1::DOMAIN_SEGMENT);
    group.add_members(rack == 0 ? "n0" : "n2");
    group.add_members(rack == 0 ? "n1" : "n3");
  }
  v1::Group& pipeline = *partition.add_topology();
  pipeline.set_name("pp0");
  pipeline.set_level(v1::DOMAIN_GROUP);
  for (const char* member : {"n0/0", "n1/0", "n2/0"}) pipeline.add_members(member);
  return partition;
}

TEST(Topology, NamesTheSmallestDomainThatHoldsASet) {
  const Topology topology(TwoRacks());
  const SlotSet job = {"n0/0", "n0/1", "n1/0", "n1/1", "n2/0", "n2/1"};
  EXPECT_EQ(topology.LevelOf({}, job), v1::DOMAIN_NONE);
  EXPECT_EQ(topology.LevelOf({"n0/1"}, job), v1::DOMAIN_GPU);
  EXPECT_EQ(topology.LevelOf({"n0/0", "n0/1"}, job), v1::DOMAIN_NODE);
  EXPECT_EQ(topology.LevelOf({"n0/0", "n1/1"}, job), v1::DOMAIN_SEGMENT);
  EXPECT_EQ(topology.LevelOf({"n0/0", "n2/0"}, job), v1::DOMAIN_GROUP);
  EXPECT_EQ(topology.LevelOf({"n0/1", "n2/1"}, job), v1::DOMAIN_JOB);
  EXPECT_EQ(topology.LevelOf(job, job), v1::DOMAIN_JOB);
  EXPECT_EQ(topology.LevelOf({"n0/1", "n3/1"}, job), v1::DOMAIN_PARTITION);
}

TEST(Topology, CallsALoneSlotByItsNode) {
  Story story;
  const Topology topology(story.plan.partition().spec());
  EXPECT_EQ(topology.LevelOf({"n0/0"}, {"n0/0", "n1/0", "n2/0"}), v1::DOMAIN_NODE);
  EXPECT_EQ(topology.LevelOf({"n0/0"}, {"n0/0"}), v1::DOMAIN_NODE);
}

TEST(Topology, CallsTheWholeJobTheJobWhateverElseHoldsIt) {
  const Topology topology(TwoRacks());
  const SlotSet one_rack = {"n0/0", "n0/1", "n1/0", "n1/1"};
  EXPECT_EQ(topology.LevelOf(one_rack, one_rack), v1::DOMAIN_JOB);
}

// ---------------------------------------------------------------- summary

TEST(Summary, KeepsCensoredTrialsAndLeavesInvalidOnesOut) {
  Story story;
  for (int i = 0; i < 3; ++i) {
    story.Trial().Kill("n2/0").Signal(2 + i, v1::DETECTED, "n2/0");
    RestartAfterKill(story);
  }
  story.Trial().Kill("n2/0");
  RestartAfterKill(story);
  story.Trial().Armed("process.kill", "n2/0").Run(0, 10, 1001).End(10);
  const Summary summary = story.Measured().detection_latency;
  EXPECT_EQ(summary.n, 4);
  EXPECT_EQ(summary.censored, 1);
  EXPECT_THAT(*summary.p50, IsAbout(3));
  EXPECT_FALSE(summary.p90);
  EXPECT_NEAR(Seconds(*summary.min), 2, 0.002);
  EXPECT_NEAR(Seconds(*summary.max), 4, 0.002);
  EXPECT_FALSE(summary.median_between) << "four trials are too few";
}

TEST(Summary, BoundsTheMedianFromSixTrialsOn) {
  Story story;
  for (int i = 0; i < 6; ++i) {
    story.Trial().Kill("n2/0").Signal(2 + i * 0.5, v1::DETECTED, "n2/0");
    RestartAfterKill(story);
  }
  const Summary summary = story.Measured().detection_latency;
  ASSERT_TRUE(summary.median_between);
  EXPECT_NEAR(Seconds(summary.median_between->min), 2, 0.002);
  EXPECT_NEAR(Seconds(summary.median_between->max), 4.5, 0.002);
  EXPECT_NEAR(summary.median_confidence, 0.96875, 1e-6);
}

}  // namespace
}  // namespace triodrill
