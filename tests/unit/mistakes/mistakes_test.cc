// Fifteen mistakes that tools of this kind have made, each with a test under its own name: what is shown here in small
// is tested at length where it is implemented. On real processes, records and programs where a node is what matters;
// else on the pure stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "injectors/cpu/stutter.h"
#include "injectors/journal/journal.h"
#include "injectors/journal/settle.h"
#include "injectors/process/pause.h"
#include "tests/unit/agent/core_rig.h"
#include "tests/unit/conduct/stage.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/plan/world.h"
#include "tests/unit/reports/story.h"
#include "triodrill/schema/units.h"

namespace triodrill {
namespace {

using agent::CoreRig;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AbleNodes;
using testing::AddFault;
using testing::Aim;
using testing::Child;
using testing::EmptyDrill;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::KillDrill;
using testing::PauseDrill;
using testing::RequestOf;
using testing::RunProgram;
using testing::Stage;
using testing::TemporaryDirectory;

google::protobuf::Duration Within(int64_t s) { return ToProto(Nanos(seconds(s))); }

// What an agent does up to the effect, in a process that is killed right after it.
bool StopAndDie(const Child& target, const std::string& directory) {
  Child agent([&] {
    const auto injector = MakeProcessPause();
    const auto record = injector->Prepare(Aim("process.pause", target.identity()));
    const auto journal = UndoJournal::Open(directory);
    if (!record.ok() || !journal.ok() || !(*journal)->Record(*record).ok()) ::_exit(1);
    if (!injector->Apply(*record).ok()) ::_exit(1);
    static_cast<void>(::raise(SIGKILL));
  });
  const int how = agent.Reap();
  return WIFSIGNALED(how) && Eventually([&] { return target.State() == 'T'; });
}

TEST(MistakesOfOtherTools, No1UndoKeptInMemory) {
  const TemporaryDirectory directory;
  const Child target = Child::Idle();
  ASSERT_TRUE(StopAndDie(target, directory.path()));
  // Somebody who knows nothing but the directory.
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok()) << journal.status();
  const std::vector<ReplayOutcome> outcomes = Replay(**journal);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].confirmed) << outcomes[0].problem;
  EXPECT_TRUE(target.Runs());
}

TEST(MistakesOfOtherTools, No2NoAnswerCountedAsRecovered) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.look_fails = true;
  rig.Revert("1.a.0");
  rig.Live(seconds(20));
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_TRUE(rig.node.records.contains("1.a.0")) << "the promise stands until it was seen kept";
  Stage stage(PauseDrill());
  stage.agents_revert = false;
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken") << "neither is an agent that says nothing";
}

TEST(MistakesOfOtherTools, No3PassedThoughNothingWasInjected) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Within(90);
  story.Trial().Armed("process.kill", "n2/0").Fail("land", "nothing was seen").Withdraw(1).Run(0, 20, 1001).End(20);
  EXPECT_EQ(story.Judged().exit_code, ExitCode::kInconclusive);
}

TEST(MistakesOfOtherTools, No4RecoverSaysSuccessAndTheEffectRemains) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.comes_off = false;  // the revert itself says that all went well
  rig.Revert("1.a.0");
  rig.Live(seconds(20));
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().by_hand(), "kill -CONT 7");
}

TEST(MistakesOfOtherTools, No5OneFailureOfSeveralLost) {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Within(10);
  const auto trial = [&story](double detected) {
    story.Trial().Kill("n2/0").Signal(detected, v1::DETECTED, "n2/0").Restart(detected + 0.1);
    story.Restored(detected + 2, 990).Run(detected + 3, detected + 15, 991).End(detected + 16);
  };
  trial(2), trial(12), trial(2);
  EXPECT_EQ(story.Judged().exit_code, ExitCode::kFailed);
  // Nor is an undo: the first record is damaged, the second is settled all the same, and both are reported.
  const TemporaryDirectory directory;
  const Child target = Child::Idle();
  ASSERT_TRUE(StopAndDie(target, directory.path()));
  std::ofstream(directory.path() + "/0.first.0.undo") << "torn";
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok()) << journal.status();
  int confirmed = 0;
  int troubled = 0;
  for (const ReplayOutcome& outcome : Replay(**journal)) ++(outcome.confirmed ? confirmed : troubled);
  EXPECT_EQ(confirmed, 1);
  EXPECT_EQ(troubled, 1);
  EXPECT_TRUE(target.Runs());
}

TEST(MistakesOfOtherTools, No6TheTargetIsAnotherBetweenInjectionAndUndo) {
  const Child stranger = Child::Idle();
  // The same pid, as it is given out again: somebody else's process, stopped for somebody else's reason.
  v1::ProcessIdentity earlier = stranger.identity();
  earlier.set_start_time_ticks(earlier.start_time_ticks() - 1);
  const auto injector = MakeProcessPause();
  auto record = injector->Prepare(Aim("process.pause", stranger.identity()));
  ASSERT_TRUE(record.ok()) << record.status();
  *record->mutable_fault()->mutable_target()->mutable_process() = earlier;
  EXPECT_FALSE(injector->Apply(*record).ok());
  EXPECT_TRUE(stranger.Runs());
  ::kill(stranger.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return stranger.State() == 'T'; }));
  const Settled settled = Settle(*injector, *record);
  EXPECT_EQ(settled.debt, Debt::kNone) << settled.problem;
  EXPECT_EQ(stranger.State(), 'T') << "it is left as it was found";
}

TEST(MistakesOfOtherTools, No7AHalfDoneInjectionIsNotUndone) {
  CoreRig rig;
  rig.Connect();
  rig.node.apply = absl::InternalError("half done");
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Live(seconds(5));
  EXPECT_THAT(rig.node.calls, ::testing::Contains("revert 1.a.0"));
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_TRUE(rig.LastReverted().confirmed());
}

TEST(MistakesOfOtherTools, No8UndoDestroysWhatWasThereBefore) {
  const Child target = Child::Idle();
  ::kill(target.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return target.State() == 'T'; }));
  // An undo would continue what somebody else has stopped: it is refused, and nothing is recorded.
  const auto record = MakeProcessPause()->Prepare(Aim("process.pause", target.identity()));
  EXPECT_THAT(std::string(record.status().message()), HasSubstr("its state could not be given back"));
}

TEST(MistakesOfOtherTools, No9OverlappingFaultsRestoreEachOther) {
  const TemporaryDirectory directory;
  const Child target = Child::Idle();
  const auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto pause = MakeProcessPause()->Prepare(Aim("process.pause", target.identity(), "1.a.0"));
  const auto stutter =
      MakeCpuStutter(TRIODRILL_BIN_DIR "/triodrill-stutter")->Prepare(Aim("cpu.stutter", target.identity(), "1.b.0"));
  ASSERT_TRUE(pause.ok()) << pause.status();
  ASSERT_TRUE(stutter.ok()) << stutter.status();
  ASSERT_TRUE((*journal)->Record(*pause).ok());
  EXPECT_FALSE((*journal)->Record(*stutter).ok()) << "both stop and continue one process";
}

TEST(MistakesOfOtherTools, No10AbortRacesWithInjection) {
  for (auto at = milliseconds(0); at <= milliseconds(700); at += milliseconds(20)) {
    CoreRig rig;
    rig.Connect();
    rig.node.looks_until_present = 3;
    rig.Prepare(CoreRig::Ask("1.a.0"));
    rig.Arm("1.a.0");
    rig.Advance(at);
    rig.Cancel("1.a.0");
    rig.Live(seconds(5));
    EXPECT_TRUE(rig.node.effects.empty()) << "cancelled after " << at.count() << " ms";
    EXPECT_TRUE(rig.node.records.empty()) << "cancelled after " << at.count() << " ms";
  }
}

TEST(MistakesOfOtherTools, No11AMissingSelectorHitsEverything) {
  v1::Drill drill = EmptyDrill(1, 0);
  AddFault(drill, "kill", "process.kill").mutable_target()->clear_pick();
  const plan::Outcome outcome = MakePlan(RequestOf(drill));
  ASSERT_FALSE(outcome.plan.has_value());
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("matches 3, its limit is 1"));
}

TEST(MistakesOfOtherTools, No12HangsWithNoVerdict) {
  const auto ends = [](void (*bend)(Stage&)) {
    Stage stage(PauseDrill());
    bend(stage);
    stage.Run();
    return stage.finished() && !stage.outcome().empty();
  };
  EXPECT_TRUE(ends([](Stage& s) { s.agents_answer_prepare = false; }));
  EXPECT_TRUE(ends([](Stage& s) { s.agents_arm = false; }));
  EXPECT_TRUE(ends([](Stage& s) { s.agents_land = false; }));
  EXPECT_TRUE(ends([](Stage& s) { s.agents_revert = false; }));
  EXPECT_TRUE(ends([](Stage& s) { s.steps_per_s = 0; })) << "a job that never runs";
}

TEST(MistakesOfOtherTools, No13TimesWithoutUnitsAndCutToNothing) {
  EXPECT_EQ(ParseDuration("500ms").value_or(Nanos(0)), Nanos(milliseconds(500)));
  EXPECT_EQ(ParseDuration("1500us").value_or(Nanos(0)), Nanos(std::chrono::microseconds(1500)));
  EXPECT_FALSE(ParseDuration("500").ok()) << "of what?";
  // An instant that has passed is missed, not made up for.
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", -milliseconds(1));
  rig.Live(seconds(2));
  EXPECT_EQ(rig.LastMissed().shot(), "1.a.0");
  EXPECT_TRUE(rig.node.effects.empty());
}

TEST(MistakesOfOtherTools, No14FoundMissingHalfWay) {
  plan::Request request = RequestOf(KillDrill());
  request.abilities = AbleNodes();
  for (v1::Capability& capability : *request.abilities->at("n2").mutable_capabilities()) {
    capability.set_possible(false);
    capability.set_reason("this kernel has no such thing");
  }
  const plan::Outcome outcome = MakePlan(request);
  ASSERT_FALSE(outcome.plan.has_value()) << "it is known before anything is touched";
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("this kernel has no such thing"));
}

TEST(MistakesOfOtherTools, No15AnAgentForEverybodyAndNobodyKnowsWhoRanIt) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/policy.yaml")
      << "apiVersion: triodrill/v1\nkind: AgentPolicy\nmetadata: {name: x}\nspec: {shadow: true, max_hold: 1min}\n";
  const auto refused = RunProgram({std::string(TRIODRILL_BIN_DIR) + "/triodrilld", "--node", "n1", "--coordinator",
                                   "dns:///example.org:443", "--policy", directory.path() + "/policy.yaml",
                                   "--state-dir", directory.path()});
  EXPECT_EQ(refused.code, 64) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("only unix:"));
  Story story;
  story.Trial().Kill("n2/0").Signal(2, v1::DETECTED, "n2/0").Restart(3).Restored(5, 990).Run(6, 20, 991).End(21);
  EXPECT_EQ(story.Measured().run.operator_name, "operator");
}

}  // namespace
}  // namespace triodrill
