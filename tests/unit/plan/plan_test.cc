#include "coordinator/plan/plan.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/plan/world.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

using testing::AbleNodes;
using testing::AddFault;
using testing::EmptyDrill;
using ::testing::HasSubstr;
using testing::KillDrill;
using testing::PauseDrill;
using testing::PlanOf;
using testing::RequestOf;
using testing::Seconds;

TEST(Plan, IsTheSameToTheByteForTheSameSeed) {
  EXPECT_EQ(ToPrettyJson(PlanOf(KillDrill(10, 3))), ToPrettyJson(PlanOf(KillDrill(10, 3))));
}

TEST(Plan, AnotherSeedChoosesOtherTargets) {
  v1::Drill other = KillDrill(10, 3);
  other.mutable_spec()->mutable_trials()->set_seed(43);
  EXPECT_NE(ToPrettyJson(PlanOf(KillDrill(10, 3))), ToPrettyJson(PlanOf(other)));
}

TEST(Plan, HasEveryFaultedAndShamTrialAndMixesThem) {
  const v1::Plan plan = PlanOf(KillDrill(10, 5));
  ASSERT_EQ(plan.trials_size(), 15);
  int sham = 0;
  bool sham_before_faulted = false;
  bool seen_sham = false;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    sham += trial.sham() ? 1 : 0;
    sham_before_faulted |= seen_sham && !trial.sham();
    seen_sham |= trial.sham();
    EXPECT_EQ(trial.shots_size(), 1);
  }
  EXPECT_EQ(sham, 5);
  EXPECT_TRUE(sham_before_faulted);
}

TEST(Plan, PickReachesEverySlotOverManyTrials) {
  std::set<std::string> nodes;
  const v1::Plan plan = PlanOf(KillDrill(50, 0));
  for (const v1::PlannedTrial& trial : plan.trials()) nodes.insert(trial.shots(0).node());
  EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("n0", "n1", "n2"));
}

TEST(Plan, ACrashLoopKillsWhatTheProfileCallsAWorkerUnlessItSaysOtherwise) {
  v1::Drill drill = EmptyDrill(1, 0);
  *AddFault(drill, "loop", "process.crash_loop").mutable_hold()->mutable_for_() = Seconds(1);
  plan::Request request = RequestOf(drill);
  request.pipeline.mutable_spec()->mutable_workload()->mutable_rank_process()->set_command_line("train");
  EXPECT_EQ(plan::MakePlan(request).plan->trials(0).shots(0).with().process_crash_loop().match(), "train");
  request.drill.mutable_spec()->mutable_faults(0)->mutable_with()->mutable_process_crash_loop()->set_match("mine");
  EXPECT_EQ(plan::MakePlan(request).plan->trials(0).shots(0).with().process_crash_loop().match(), "mine");
}

TEST(Plan, TheJobOfALostNodeIsWhatTheProfileCallsWorkersUnlessTheDrillSaysOtherwise) {
  v1::Drill drill = EmptyDrill(1, 0);
  *AddFault(drill, "lost", "node.lost").mutable_hold()->mutable_for_() = Seconds(1);
  *AddFault(drill, "gray", "node.flapping").mutable_hold()->mutable_for_() = Seconds(1);
  plan::Request request = RequestOf(drill);
  request.pipeline.mutable_spec()->mutable_workload()->mutable_rank_process()->set_command_line("train");
  const auto shots = [&] { return plan::MakePlan(request).plan->trials(0).shots(); };
  EXPECT_EQ(shots()[0].with().node_lost().match(), "train");
  EXPECT_EQ(shots()[1].with().node_flapping().match(), "train");
  request.drill.mutable_spec()->mutable_faults(0)->mutable_with()->mutable_node_lost()->set_match("mine");
  request.drill.mutable_spec()->mutable_faults(1)->mutable_with()->mutable_node_flapping()->set_match("mine");
  EXPECT_EQ(shots()[0].with().node_lost().match(), "mine");
  EXPECT_EQ(shots()[1].with().node_flapping().match(), "mine");
}

TEST(Plan, TheLauncherIsWhatTheProfileCallsOneUnlessTheDrillSaysOtherwise) {
  v1::Drill drill = EmptyDrill(1, 0);
  AddFault(drill, "exit", "process.exit_agent");
  plan::Request request = RequestOf(drill);
  request.pipeline.mutable_spec()->mutable_workload()->set_launcher("launch");
  EXPECT_EQ(plan::MakePlan(request).plan->trials(0).shots(0).with().process_exit_agent().match(), "launch");
  request.drill.mutable_spec()->mutable_faults(0)->mutable_with()->mutable_process_exit_agent()->set_match("mine");
  EXPECT_EQ(plan::MakePlan(request).plan->trials(0).shots(0).with().process_exit_agent().match(), "mine");
}

// n2 is a spare: two ranks serve.
plan::Request WithASpare(const v1::Drill& drill) {
  plan::Request request = RequestOf(drill);
  request.partition.mutable_spec()->add_spares("n2");
  return request;
}

TEST(Plan, WhereThereAreSparesARankIsAimedAtByItsNumber) {
  const plan::Outcome outcome = plan::MakePlan(WithASpare(KillDrill(50, 0)));
  ASSERT_TRUE(outcome.plan.has_value());
  std::set<int> ranks;
  for (const v1::PlannedTrial& trial : outcome.plan->trials()) {
    EXPECT_EQ(trial.shots(0).node(), "");
    ranks.insert(trial.shots(0).rank());
  }
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(0, 1));
}

TEST(Plan, WhereThereAreSparesALinkIsThatOfARanksNode) {
  v1::Drill drill = EmptyDrill(20, 0);
  AddFault(drill, "cut", "link.down");
  const plan::Outcome outcome = plan::MakePlan(WithASpare(drill));
  ASSERT_TRUE(outcome.plan.has_value());
  std::set<int> ranks;
  for (const v1::PlannedTrial& trial : outcome.plan->trials()) {
    EXPECT_EQ(trial.shots(0).role(), v1::LINK);
    EXPECT_EQ(trial.shots(0).interface(), "eth0");
    ranks.insert(trial.shots(0).rank());
  }
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(0, 1));
}

TEST(Plan, ANodeThatIsNamedIsAimedAtByItsNameThoughThereAreSpares) {
  v1::Drill drill = EmptyDrill(1, 0);
  AddFault(drill, "cut", "link.down").mutable_target()->add_nodes("n1");
  const plan::Outcome outcome = plan::MakePlan(WithASpare(drill));
  ASSERT_TRUE(outcome.plan.has_value());
  EXPECT_EQ(outcome.plan->trials(0).shots(0).node(), "n1");
  EXPECT_EQ(outcome.plan->trials(0).shots(0).rank(), -1);
}

TEST(Plan, ARankThatOnlyTheSparesCouldHoldIsNotThere) {
  v1::Drill drill = KillDrill(1, 0);
  drill.mutable_spec()->mutable_faults(0)->mutable_target()->add_ranks(2);
  const plan::Outcome outcome = plan::MakePlan(WithASpare(drill));
  ASSERT_FALSE(outcome.plan.has_value());
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("holds 2 ranks"));
}

TEST(Plan, JitterStaysBelowItsBoundAndVaries) {
  v1::Drill drill = KillDrill(50, 0);
  *drill.mutable_spec()->mutable_faults(0)->mutable_start()->mutable_jitter() = Seconds(5);
  std::set<int64_t> waits;
  const v1::Plan plan = PlanOf(drill);
  for (const v1::PlannedTrial& trial : plan.trials()) {
    const Nanos jitter = ToNanos(trial.shots(0).jitter());
    EXPECT_LT(jitter, std::chrono::seconds(5));
    waits.insert(jitter.count());
  }
  EXPECT_EQ(waits.size(), 50u);
}

TEST(Plan, RefusesASelectorThatMatchesMoreThanItsLimit) {
  v1::Drill drill = EmptyDrill(1, 0);
  AddFault(drill, "kill", "process.kill").mutable_target()->clear_pick();
  const plan::Outcome outcome = MakePlan(RequestOf(drill));
  ASSERT_FALSE(outcome.plan.has_value());
  EXPECT_EQ(outcome.refusals[0].exit_code, ExitCode::kRefused);
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("matches 3, its limit is 1"));
}

TEST(Plan, RefusesANodeThatIsNotThere) {
  v1::Drill drill = KillDrill();
  drill.mutable_spec()->mutable_faults(0)->mutable_target()->add_nodes("n7");
  const plan::Outcome outcome = MakePlan(RequestOf(drill));
  ASSERT_FALSE(outcome.plan.has_value());
  EXPECT_EQ(outcome.refusals[0].exit_code, ExitCode::kInvalidFile);
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("no node 'n7'"));
}

TEST(Plan, RefusesARankBeyondTheWorld) {
  v1::Drill drill = KillDrill();
  drill.mutable_spec()->mutable_faults(0)->mutable_target()->clear_pick();
  drill.mutable_spec()->mutable_faults(0)->mutable_target()->add_ranks(3);
  EXPECT_THAT(MakePlan(RequestOf(drill)).refusals[0].what, HasSubstr("there is no rank 3"));
}

TEST(Plan, NeverAimsAtASpare) {
  plan::Request request = RequestOf(KillDrill(30, 0));
  request.partition.mutable_spec()->add_spares("n1");
  const v1::Plan plan = *MakePlan(request).plan;
  for (const v1::PlannedTrial& trial : plan.trials()) EXPECT_NE(trial.shots(0).node(), "n1");
}

TEST(Plan, SaysWhyANodeCannotDoTheFault) {
  plan::Request request = RequestOf(KillDrill());
  request.abilities = AbleNodes();
  for (v1::Capability& capability : *request.abilities->at("n2").mutable_capabilities()) {
    if (capability.kind() == "process.kill") {
      capability.set_possible(false);
      capability.set_reason("no pidfd in this kernel");
    }
  }
  const plan::Outcome outcome = MakePlan(request);
  ASSERT_FALSE(outcome.plan.has_value());
  EXPECT_EQ(outcome.refusals[0].exit_code, ExitCode::kRefused);
  EXPECT_THAT(outcome.refusals[0].what, HasSubstr("n2: no pidfd in this kernel"));
}

TEST(Plan, TakesTheOtherwiseAndSaysSo) {
  v1::Drill drill = EmptyDrill(1, 1);
  v1::Fault& fault = AddFault(drill, "slow", "cpu.throttle");
  fault.mutable_hold()->set_until("isolated");
  *fault.mutable_hold()->mutable_max() = Seconds(5);
  fault.mutable_otherwise()->set_inject("cpu.stutter");
  SelectParameters("cpu.stutter", *fault.mutable_otherwise()->mutable_with());
  plan::Request request = RequestOf(drill);
  request.abilities = AbleNodes();
  for (auto& [name, hello] : *request.abilities) {
    for (v1::Capability& capability : *hello.mutable_capabilities()) {
      if (capability.kind() != "cpu.throttle") continue;
      capability.set_possible(false);
      capability.set_reason("no writable cgroup");
    }
  }
  const v1::Plan plan = *MakePlan(request).plan;
  EXPECT_EQ(plan.trials(0).shots(0).kind(), "cpu.stutter");
  EXPECT_TRUE(plan.trials(0).shots(0).with().has_cpu_stutter());
  ASSERT_EQ(plan.substitutions_size(), 1);
  EXPECT_THAT(plan.substitutions(0).reason(), HasSubstr("no writable cgroup"));
}

TEST(Plan, TheNodesOwnMaximumIsLaterThanThePlansEnd) {
  const v1::Plan plan = PlanOf(PauseDrill());
  EXPECT_GT(ToNanos(plan.trials(0).shots(0).max_hold()), ToNanos(plan.trials(0).shots(0).hold().max()));
}

TEST(Plan, SaysIfADrillBreaksNothingOfItsCategory) {
  v1::Drill drill = KillDrill();
  const auto remark = ::testing::Contains(
      HasSubstr("declares the category network, and breaks nothing of it: process.kill is software"));
  drill.mutable_metadata()->set_category(v1::NETWORK);
  EXPECT_THAT(PlanOf(drill).remarks(), remark);
  drill.mutable_metadata()->set_category(v1::SOFTWARE);
  EXPECT_THAT(PlanOf(drill).remarks(), ::testing::Not(::testing::Contains(HasSubstr("category"))));
  drill.mutable_metadata()->clear_category();
  EXPECT_THAT(PlanOf(drill).remarks(), ::testing::Not(::testing::Contains(HasSubstr("category"))));
}

TEST(Plan, AnApprovedPlanIsNotChangedByAskingTheNodes) {
  plan::Request request = RequestOf(KillDrill());
  const std::string beforehand = plan::MakePlan(request).plan->SerializeAsString();
  request.abilities = AbleNodes();
  EXPECT_EQ(plan::MakePlan(request).plan->SerializeAsString(), beforehand);
}

}  // namespace
}  // namespace triodrill
