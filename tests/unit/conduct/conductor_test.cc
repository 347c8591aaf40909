#include "coordinator/conduct/conductor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/conduct/stage.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

using testing::AddFault;
using ::testing::ElementsAre;
using testing::EmptyDrill;
using ::testing::HasSubstr;
using testing::KillDrill;
using testing::PauseDrill;
using testing::Stage;
using What = v1::Fact;

Nanos Held(const Stage& stage) {
  return FromNanos(stage.First(What::kReverted)->at().latest_ns()) -
         FromNanos(stage.First(What::kLanded)->at().latest_ns());
}

TEST(Conductor, RunsAPauseFromBaselineToTheLastTrial) {
  Stage stage(PauseDrill(2, 1));
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_EQ(stage.Count(What::kTrialStarted), 3);
  EXPECT_EQ(stage.Count(What::kLanded), 3);
  EXPECT_EQ(stage.Count(What::kReverted), 2);  // a sham has nothing to take back
  EXPECT_EQ(stage.Count(What::kTrialEnded), 3);
  EXPECT_TRUE(stage.held().empty());
  for (const v1::Fact& fact : stage.facts()) {
    if (!fact.has_trial_ended()) continue;
    EXPECT_TRUE(fact.trial_ended().valid()) << fact.trial_ended().problem();
  }
}

TEST(Conductor, HoldsUntilItsMaximumWhenNobodyIsolates) {
  Stage stage(PauseDrill());
  stage.Run();
  EXPECT_GE(Held(stage), std::chrono::seconds(8));
  EXPECT_LT(Held(stage), std::chrono::milliseconds(8100));
}

TEST(Conductor, WithdrawsAsSoonAsTheFaultedSlotIsIsolated) {
  Stage stage(PauseDrill());
  stage.every_tick = [](Stage& s) {
    if (s.held().empty()) return;
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed != nullptr) s.Feed(conduct::Reported{v1::ISOLATED, landed->landed().node()});
  };
  stage.Run();
  EXPECT_LT(Held(stage), std::chrono::seconds(1));
}

TEST(Conductor, AnIsolatedNeighbourIsNoReasonToWithdraw) {
  Stage stage(PauseDrill());
  stage.every_tick = [](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr || s.held().empty()) return;
    s.Feed(conduct::Reported{v1::ISOLATED, landed->landed().node() == "n0" ? "n1" : "n0"});
  };
  stage.Run();
  EXPECT_GE(Held(stage), std::chrono::seconds(8));
}

TEST(Conductor, AKilledRankNeedsNoRevertAndEndsWhenTheJobIsBack) {
  Stage stage(KillDrill());
  stage.every_tick = [](Stage& s) {
    if (s.state().onset && !s.state().detected) s.Feed(conduct::Reported{v1::DETECTED, ""});
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm"));
  const Nanos observed = FromNanos(stage.First(What::kTrialEnded)->at().latest_ns()) -
                         FromNanos(stage.First(What::kLanded)->at().latest_ns());
  EXPECT_GT(observed, std::chrono::seconds(11));  // 6 s down, then a window of 5 s
  EXPECT_LT(observed, std::chrono::seconds(15));
}

TEST(Conductor, WaitsForTheDetectionDeadlineWhenNothingIsReported) {
  Stage stage(KillDrill());
  stage.Run();
  const Nanos observed = FromNanos(stage.First(What::kTrialEnded)->at().latest_ns()) -
                         FromNanos(stage.First(What::kLanded)->at().latest_ns());
  EXPECT_GE(observed, std::chrono::seconds(20));
}

TEST(Conductor, NothingIsFiredThatTheGateDenies) {
  Stage stage(PauseDrill());
  stage.gate_denies = true;
  stage.Run();
  EXPECT_EQ(stage.outcome(), "refused");
  EXPECT_THAT(stage.problem(), HasSubstr("plan_is_the_one_written"));
  EXPECT_TRUE(stage.log().empty());
}

TEST(Conductor, AJobThatNeverRunsIsStartedAfreshOnceThenTheTrialIsInvalid) {
  Stage stage(PauseDrill());
  stage.steps_per_s = 0;
  stage.Run();
  EXPECT_EQ(stage.restarts(), 1);
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_THAT(stage.First(What::kTrialEnded)->trial_ended().problem(), HasSubstr("never became steady"));
}

TEST(Conductor, ADetectorThatNeverRestsMakesTheTrialInvalidNotFast) {
  Stage stage(PauseDrill());
  stage.every_tick = [](Stage& s) { s.Feed(conduct::Reported{v1::DETECTED, "n1"}); };
  stage.Run();
  EXPECT_TRUE(stage.log().empty());
  EXPECT_THAT(stage.First(What::kTrialEnded)->trial_ended().problem(), HasSubstr("never came to rest"));
}

TEST(Conductor, APreparationThatFailsArmsNothing) {
  Stage stage(PauseDrill());
  stage.prepare_problem = "process 77 is gone";
  stage.Run();
  EXPECT_THAT(stage.log(), ElementsAre("prepare"));
  EXPECT_EQ(stage.Count(What::kFailed), 1);
  EXPECT_FALSE(stage.First(What::kTrialEnded)->trial_ended().valid());
}

TEST(Conductor, ANodeThatNeverAnswersIsNotWaitedForForEver) {
  Stage stage(PauseDrill());
  stage.agents_answer_prepare = false;
  stage.Run();
  EXPECT_TRUE(stage.finished());
  EXPECT_FALSE(stage.First(What::kTrialEnded)->trial_ended().valid());
}

TEST(Conductor, TheFireIsCancelledUnlessEveryNodeIsArmed) {
  Stage stage(PauseDrill());
  stage.agents_arm = false;
  stage.Run();
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "cancel"));
  EXPECT_EQ(stage.Count(What::kLanded), 0);
  EXPECT_EQ(stage.outcome(), "finished");
}

TEST(Conductor, NoLandingSeenMeansRevertedAndInvalid) {
  Stage stage(PauseDrill());
  stage.land_problem = "nothing was seen within 5 s";
  stage.Run();
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "revert"));
  EXPECT_FALSE(stage.First(What::kTrialEnded)->trial_ended().valid());
  EXPECT_EQ(stage.outcome(), "finished");
}

TEST(Conductor, AnUndoThatIsNotConfirmedEndsTheRunAndSaysSo) {
  Stage stage(PauseDrill(3, 0));
  stage.undo_confirmed = false;
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_THAT(stage.problem(), HasSubstr("undo is not confirmed"));
  EXPECT_EQ(stage.Count(What::kTrialStarted), 1);
  EXPECT_EQ(stage.First(What::kReverted)->reverted().by_hand(), "kill -CONT 77");
}

TEST(Conductor, SilenceIsNotAConfirmation) {
  Stage stage(PauseDrill());
  stage.agents_revert = false;
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_FALSE(stage.First(What::kReverted)->reverted().confirmed());
}

class AbortAt : public ::testing::TestWithParam<int> {};

TEST_P(AbortAt, LeavesNothingHeldWhereverItComes) {
  Stage stage(PauseDrill(2, 1));
  int tick = 0;
  stage.every_tick = [&](Stage& s) {
    if (++tick == GetParam()) s.Feed(conduct::AbortAsked{"SIGINT"});
  };
  stage.Run();
  ASSERT_TRUE(stage.finished());
  EXPECT_TRUE(stage.held().empty());
  EXPECT_EQ(stage.outcome(), "aborted");
}

// Through settling, the gate, preparing, arming, the hold, the revert, the cool-down and the next trials.
INSTANTIATE_TEST_SUITE_P(EveryPhase, AbortAt,
                         ::testing::Values(1, 100, 299, 300, 301, 302, 303, 304, 305, 306, 307, 310, 330, 350, 353, 354,
                                           355, 356, 360, 500, 800, 1153, 1154, 1155, 1156, 1160, 1500, 2000, 2500,
                                           3000));

TEST(Conductor, ALostAgentIsWaitedForAndItsReplayIsTheConfirmation) {
  Stage stage(PauseDrill(1, 0));
  std::string node;
  TimePoint lost{};
  stage.every_tick = [&](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr) return;
    if (node.empty()) {
      node = landed->landed().node();
      lost = s.now();
      s.agents_revert = false;
      s.Feed(conduct::AgentLost{node, "stream broken"});
    } else if (lost != TimePoint{} && s.now() - lost > std::chrono::seconds(2)) {
      lost = TimePoint{};
      s.Feed(conduct::AgentBack{node, {}});
    }
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_FALSE(stage.First(What::kTrialEnded)->trial_ended().valid());
  EXPECT_TRUE(stage.First(What::kReverted)->reverted().confirmed());
}

TEST(Conductor, TroubleWithTheEvidenceUndoesEverythingAndEndsTheRun) {
  Stage stage(PauseDrill(3, 0));
  bool done = false;
  stage.every_tick = [&](Stage& s) {
    if (s.held().empty() || done) return;
    done = true;
    s.Feed(conduct::Trouble{"No space left on device"});
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_TRUE(stage.held().empty());
  EXPECT_EQ(stage.Count(What::kTrialStarted), 1);
}

TEST(Conductor, ThreeInvalidTrialsInARowAreEnough) {
  Stage stage(PauseDrill(6, 0));
  stage.land_problem = "nothing was seen";
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_EQ(stage.Count(What::kTrialStarted), 3);
}

TEST(Conductor, ASecondFaultStartsWhenTheFirstHasLanded) {
  v1::Drill drill = PauseDrill();
  v1::Fault& second = AddFault(drill, "kill", "process.kill");
  for (v1::Fault& fault : *drill.mutable_spec()->mutable_faults()) fault.mutable_target()->add_nodes("n0");
  second.mutable_start()->clear_after();
  second.mutable_start()->set_when("landed");
  second.mutable_start()->set_of("pause");
  Stage stage(drill);
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "prepare", "arm", "revert"));
}

TEST(Conductor, AStartThatNeverComesDoesNotHangTheTrial) {
  v1::Drill drill = PauseDrill();
  v1::Fault& second = AddFault(drill, "kill", "process.kill");
  for (v1::Fault& fault : *drill.mutable_spec()->mutable_faults()) fault.mutable_target()->add_nodes("n0");
  second.mutable_start()->clear_after();
  second.mutable_start()->set_when("isolated");
  second.mutable_start()->set_of("pause");
  Stage stage(drill);
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_THAT(stage.First(What::kTrialEnded)->trial_ended().problem(), HasSubstr("never came to its start"));
  EXPECT_TRUE(stage.held().empty());
}

TEST(Conductor, StartsAtTheStepThatWasAskedFor) {
  v1::Drill drill = KillDrill();
  drill.mutable_spec()->mutable_faults(0)->mutable_start()->clear_after();
  drill.mutable_spec()->mutable_faults(0)->mutable_start()->set_step(50);
  Stage stage(drill);
  stage.Run();
  const Nanos waited = FromNanos(stage.First(What::kLanded)->at().latest_ns()) -
                       FromNanos(stage.First(What::kBaseline)->at().latest_ns());
  EXPECT_GE(waited, std::chrono::seconds(5));
  EXPECT_LE(waited, std::chrono::seconds(6));
}

TEST(Conductor, AShamGivesTheTargetBackSoThatTheNextTrialMayUseIt) {
  Stage stage(PauseDrill(0, 1));
  stage.Run();
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "cancel"));
  EXPECT_EQ(stage.Count(What::kReverted), 0);
  EXPECT_EQ(stage.outcome(), "finished");
}

TEST(Conductor, ADrillWithoutFaultsObservesItsShamTrials) {
  Stage stage(EmptyDrill(0, 3));
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_EQ(stage.Count(What::kLanded), 3);
  EXPECT_TRUE(stage.log().empty());
}

TEST(Conductor, TheSameEventsGiveTheSameFactsToTheByte) {
  const auto run = [] {
    Stage stage(PauseDrill(3, 2));
    stage.Run();
    std::string bytes;
    for (const v1::Fact& fact : stage.facts()) bytes += ToJson(fact) + "\n";
    return bytes;
  };
  EXPECT_EQ(run(), run());
}

// From the start of trial 2 to its baseline.
Nanos Settling(const Stage& stage) {
  Nanos began{0};
  for (const v1::Fact& fact : stage.facts()) {
    if (fact.trial() != 2) continue;
    if (fact.has_trial_started()) began = FromNanos(fact.at().latest_ns()).time_since_epoch();
    if (fact.has_baseline()) return FromNanos(fact.at().latest_ns()).time_since_epoch() - began;
  }
  return Nanos::max();
}

TEST(Conductor, AnUndisturbedShamIsTheNextTrialsBaseline) {
  Stage stage(EmptyDrill(0, 2));
  stage.Run();
  EXPECT_LT(Settling(stage), std::chrono::seconds(1));
}

TEST(Conductor, AShamWithAFalseAlarmIsNoBaseline) {
  Stage stage(EmptyDrill(0, 2));
  bool said = false;
  stage.every_tick = [&said](Stage& s) {
    if (said || s.Count(What::kLanded) == 0) return;
    said = true;
    s.Feed(conduct::Reported{v1::DETECTED, "n1"});
  };
  stage.Run();
  EXPECT_GT(Settling(stage), std::chrono::seconds(2));
}

TEST(Conductor, AJobThatDidNotRecoverMustSettleAnew) {
  Stage stage(PauseDrill(2, 0));
  stage.every_tick = [](Stage& s) {
    if (s.Count(What::kTrialEnded) == 0 && s.Count(What::kLanded) > 0) s.steps_per_s = 1;
    if (s.Count(What::kTrialEnded) > 0) s.steps_per_s = 10;
  };
  stage.Run();
  EXPECT_GT(Settling(stage), std::chrono::seconds(2));
  EXPECT_LT(Settling(stage), Nanos::max());
}

TEST(Conductor, NeverHoldsMoreThanTheDrillAsksFor) {
  Stage stage(PauseDrill(5, 2));
  stage.Run();
  EXPECT_EQ(stage.most_held(), 1);
}

}  // namespace
}  // namespace triodrill
