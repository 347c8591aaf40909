#include "reports/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/judge/bounds.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Nanos Millis(int64_t ms) { return std::chrono::milliseconds(ms); }

Delay Seen(int64_t min_ms, int64_t max_ms) {
  return {.seen = Span{Millis(min_ms), Millis(max_ms)}, .censored_at = Nanos(0), .why_censored = ""};
}
Delay Censored(int64_t at_ms) {
  return {.seen = std::nullopt, .censored_at = Millis(at_ms), .why_censored = "nothing came"};
}

TEST(JudgeDelay, PassesOnlyWhatIsCertainlyWithinTheBound) {
  EXPECT_EQ(JudgeDelay(Seen(9000, 10000), Millis(10000)).answer, Answer::kPass);
  EXPECT_EQ(JudgeDelay(Seen(9999, 10001), Millis(10000)).answer, Answer::kInconclusive);
  EXPECT_EQ(JudgeDelay(Seen(10000, 10001), Millis(10000)).answer, Answer::kInconclusive);
  EXPECT_EQ(JudgeDelay(Seen(10001, 10002), Millis(10000)).answer, Answer::kFail);
}

TEST(JudgeDelay, FailsWhatWasNotSeenForAsLongAsTheBound) {
  EXPECT_EQ(JudgeDelay(Censored(10000), Millis(10000)).answer, Answer::kFail);
  EXPECT_EQ(JudgeDelay(Censored(9999), Millis(10000)).answer, Answer::kInconclusive);
  EXPECT_THAT(JudgeDelay(Censored(60000), Millis(10000)).reason, HasSubstr("nothing came"));
}

TEST(JudgeShare, ReadsTheComparison) {
  EXPECT_EQ(JudgeShare(1, ">= 1").answer, Answer::kPass);
  EXPECT_EQ(JudgeShare(0.5, ">= 1").answer, Answer::kFail);
  EXPECT_EQ(JudgeShare(0.5, "> 0.5").answer, Answer::kFail);
  EXPECT_EQ(JudgeShare(0.5, "about 1").answer, Answer::kInconclusive);
}

// A kill that torchrun handles: detected after 2.1 s, whole job restarted, steady after 6.5 s, ten steps lost.
void RestartedKill(Story& story) {
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17);
}

const Objective& Find(const Verdict& verdict, const std::string& name) {
  for (const Objective& objective : verdict.objectives) {
    if (objective.name == name) return objective;
  }
  static const Objective kNone{.name = "",
                               .expected = "",
                               .answer = Answer::kFail,
                               .reason = "there is no such objective",
                               .n = 0,
                               .passed = 0,
                               .assurance = std::nullopt,
                               .trials = {}};
  ADD_FAILURE() << "no objective " << name;
  return kNone;
}

TEST(Verdict, PassesWhatKeepsEveryObjective) {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(10);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.expect().mutable_steps_lost()->set_max(50);
  story.expect().mutable_interruption()->set_at_most(v1::DOMAIN_JOB);
  story.expect().add_coverage("detect");
  for (int i = 0; i < 3; ++i) RestartedKill(story);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.answer, Answer::kPass);
  EXPECT_EQ(verdict.exit_code, ExitCode::kPassed);
  EXPECT_TRUE(verdict.blockers.empty());
  EXPECT_THAT(verdict.headline, StartsWith("PASS told: "));
  const Objective& detection = Find(verdict, "detection_latency");
  EXPECT_EQ(detection.n, 3);
  EXPECT_NEAR(*detection.assurance, 0.3684, 5e-5);
}

TEST(Verdict, FailsIfOneTrialOfSeveralFails) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(7);
  RestartedKill(story);
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(4).Restored(8, 990).Run(9, 20, 991).End(21);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.exit_code, ExitCode::kFailed);
  const Objective& recovery = Find(verdict, "recovery_time");
  EXPECT_EQ(recovery.passed, 1);
  EXPECT_EQ(recovery.assurance, std::nullopt);
  EXPECT_THAT(recovery.reason, StartsWith("trial 2: "));
  EXPECT_THAT(verdict.headline, StartsWith("FAIL told: recovery_time; "));
}

TEST(Verdict, FailOutweighsInconclusive) {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(1);
  story.expect().mutable_false_alarms()->set_max(0);
  RestartedKill(story);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(Find(verdict, "false_alarms").answer, Answer::kInconclusive) << "there was no sham trial";
  EXPECT_EQ(verdict.answer, Answer::kFail);
  EXPECT_THAT(verdict.blockers,
              ElementsAre(StartsWith("FAIL detection_latency"), StartsWith("INCONCLUSIVE false_alarms")));
}

TEST(Verdict, NeverPassesWithoutALanding) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.Trial().Armed("process.kill", "n2/0").Fail("land", "nothing was seen").Withdraw(1).Run(0, 20, 1001).End(20);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.exit_code, ExitCode::kInconclusive);
  EXPECT_EQ(Find(verdict, "recovery_time").reason, "no valid trial with the fault");
}

TEST(Verdict, NeverPassesIfATrialWasInvalidOrDidNotRun) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  RestartedKill(story);
  v1::PlannedTrial& missing = *story.plan.add_trials();
  missing.set_number(2);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(Find(verdict, "recovery_time").answer, Answer::kPass);
  EXPECT_EQ(Find(verdict, "trials").answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.exit_code, ExitCode::kInconclusive);
}

TEST(Verdict, WithoutObjectivesDecidesNothing) {
  Story story;
  RestartedKill(story);
  EXPECT_EQ(story.Judged().answer, Answer::kInconclusive);
}

TEST(IsolationObjective, WithNothingEvictedKeepsTheLevelAndFailsTheRecall) {
  Story story;
  story.expect().mutable_isolation()->set_at_most(v1::DOMAIN_NODE);
  story.expect().mutable_isolation()->set_precision(">= 1");
  story.expect().mutable_isolation()->set_recall(">= 1");
  RestartedKill(story);
  const Verdict verdict = story.Judged();
  EXPECT_EQ(Find(verdict, "isolation.at_most").answer, Answer::kPass);
  EXPECT_EQ(Find(verdict, "isolation.recall").answer, Answer::kFail);
  EXPECT_EQ(Find(verdict, "isolation.precision").answer, Answer::kInconclusive);
  EXPECT_THAT(Find(verdict, "isolation.precision").reason, HasSubstr("nothing was evicted"));
}

TEST(IsolationObjective, OfPrecisionAloneHoldsWhereNobodyWasHit) {
  Story story;
  story.expect().mutable_isolation()->set_precision(">= 1");
  RestartedKill(story);
  EXPECT_EQ(Find(story.Judged(), "isolation.precision").answer, Answer::kPass);
}

TEST(IsolationObjective, CannotBeToldOfAJobThatDied) {
  Story story;
  story.expect().mutable_isolation()->set_at_most(v1::DOMAIN_NODE);
  story.Trial().Kill("n2/0").Ended(1, "n0/0").Ended(1, "n1/0").End(100);
  EXPECT_EQ(Find(story.Judged(), "isolation.at_most").answer, Answer::kInconclusive);
}

TEST(InterruptionObjective, FailsAWholeJobWhereAGroupWasAllowed) {
  Story story;
  story.expect().mutable_interruption()->set_at_most(v1::DOMAIN_GROUP);
  RestartedKill(story);
  EXPECT_EQ(Find(story.Judged(), "interruption.at_most").answer, Answer::kFail);
}

TEST(CoverageObjective, FailsAStepThatThePipelineDoesNotHave) {
  Story story;
  story.expect().add_coverage("replace");
  story.plan.mutable_pipeline()->mutable_spec()->add_not_applicable("replace");
  RestartedKill(story);
  const Objective replace = Find(story.Judged(), "coverage.replace");
  EXPECT_EQ(replace.answer, Answer::kFail);
  EXPECT_THAT(replace.reason, HasSubstr("has no such step"));
}

TEST(FalseAlarms, AreCountedOverAllShamTrials) {
  Story story;
  story.expect().mutable_false_alarms()->set_max(1);
  story.Sham().Run(0, 5, 1001).Signal(3, v1::DETECTED).End(6);
  story.Sham().Run(0, 5, 1001).Signal(3, v1::DETECTED).End(6);
  EXPECT_EQ(Find(story.Judged(), "false_alarms").answer, Answer::kFail);
  Story allowed;
  allowed.expect().mutable_false_alarms()->set_max(1);
  allowed.Sham().Run(0, 5, 1001).Signal(3, v1::DETECTED).End(6);
  EXPECT_EQ(allowed.Judged().exit_code, ExitCode::kPassed);
}

// ---------------------------------------------------------------- exit codes

TEST(ExitCode, OfAnUndoNotConfirmedOutranksAllOthers) {
  for (const char* outcome : {"finished", "aborted", "refused", "broken"}) {
    Story story;
    *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
    story.Trial().LinkDown("n2", "for", 5).Withdraw(5, false).Run(6, 20, 1001).End(21).RunEnds(outcome);
    const Verdict verdict = story.Judged();
    EXPECT_EQ(verdict.exit_code, ExitCode::kUndoNotConfirmed) << outcome;
    EXPECT_FALSE(verdict.undo_confirmed);
    EXPECT_THAT(verdict.headline, HasSubstr("UNDO NOT CONFIRMED")) << outcome;
    EXPECT_THAT(verdict.headline, HasSubstr("bring eth0 up")) << outcome;
  }
}

TEST(ExitCode, OfAnAbortIsFourThoughAnObjectiveFailed) {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(1);
  RestartedKill(story);
  story.RunEnds("aborted", "interrupted from the keyboard");
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.exit_code, ExitCode::kAborted);
  EXPECT_EQ(verdict.answer, Answer::kFail);
  EXPECT_THAT(verdict.headline, StartsWith("ABORTED told: "));
}

TEST(ExitCode, OfARefusalIsThreeAndSaysWhich) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  v1::Fact fact;
  v1::Check& check = *fact.mutable_gate()->add_checks();
  check.set_name("spares");
  check.set_saw("none left");
  check.set_hint("wait for a repair");
  story.Say(fact, 0, 0).RunEnds("refused");
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.exit_code, ExitCode::kRefused);
  EXPECT_THAT(verdict.headline, HasSubstr("spares: none left; hint: wait for a repair"));
}

TEST(ExitCode, OfATimelineWhoseWriterDiedIsNeverAPass) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  RestartedKill(story);
  story.WriterDies();
  const Verdict verdict = story.Judged();
  EXPECT_EQ(verdict.outcome, RunOutcome::kIncomplete);
  EXPECT_EQ(verdict.exit_code, ExitCode::kInconclusive);
  EXPECT_THAT(verdict.headline, HasSubstr("incomplete"));
}

TEST(ExitCode, OfARunThatBrokeOffIsNeverAPass) {
  for (const char* outcome : {"broken", "", "something new"}) {
    Story story;
    *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
    RestartedKill(story);
    story.RunEnds(outcome, "agent n1 was lost");
    EXPECT_EQ(story.Judged().exit_code, ExitCode::kInconclusive) << outcome;
  }
}

}  // namespace
}  // namespace triodrill
