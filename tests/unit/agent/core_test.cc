// The life of one fault.
#include "injectors/agent/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent/core_rig.h"

namespace triodrill::agent {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Core, TakesAFaultThroughItsWholeLife) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.LastPrepared().problem(), "");
  EXPECT_EQ(rig.LastPrepared().resource(), rig.node.resource);
  EXPECT_EQ(rig.LastPrepared().target().process().pid(), 7);
  EXPECT_TRUE(rig.node.records.empty()) << "nothing is recorded yet";

  rig.Arm("1.a.0", milliseconds(500));
  EXPECT_EQ(rig.LastArmed().shot(), "1.a.0");
  EXPECT_EQ(rig.LastArmed().problem(), "");
  EXPECT_TRUE(rig.node.records.contains("1.a.0"));
  EXPECT_TRUE(rig.node.effects.empty()) << "not before its instant";

  const TimePoint fire_at = rig.now + milliseconds(500);
  rig.Advance(milliseconds(510));
  EXPECT_EQ(rig.LastLanded().problem(), "");
  EXPECT_EQ(rig.LastLanded().fired().earliest_node_ns(), ToNanos(fire_at));
  EXPECT_EQ(rig.LastLanded().evidence(), "state T");

  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "asked");
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_THAT(rig.node.calls,
              ElementsAre("prepare 1.a.0", "record 1.a.0", "apply 1.a.0", "revert 1.a.0", "discharge 1.a.0"));
  EXPECT_TRUE(rig.core.AtRest());
  EXPECT_FALSE(rig.core.UndoNotConfirmed());
}

TEST(Core, BoundsTheOnsetByTheLastLookWithoutAndTheFirstWith) {
  CoreRig rig;
  rig.Connect();
  rig.node.looks_until_present = 40;
  rig.Hold(CoreRig::Ask("1.a.0"));
  const v1::NodeInstant at = rig.LastLanded().at();
  ASSERT_GT(at.latest_node_ns(), 0);
  const Nanos width(at.latest_node_ns() - at.earliest_node_ns());
  EXPECT_GE(width, microseconds(5));
  EXPECT_LE(width, microseconds(100)) << "looks are close together in the first moments";
  EXPECT_GT(at.earliest_node_ns(), rig.LastLanded().fired().latest_node_ns());
}

TEST(Core, StartsTheOnsetWithApplyIfNoLookSaidAbsent) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.LastLanded().at().earliest_node_ns(), rig.LastLanded().fired().earliest_node_ns());
}

TEST(Core, KeepsTheOnsetNarrowWhenTheProofComesLate) {
  CoreRig rig;
  rig.Connect();
  rig.node.looks_until_present = 1000;  // far beyond the fine looks
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  rig.Live(seconds(2));
  const v1::NodeInstant at = rig.LastLanded().at();
  ASSERT_EQ(rig.LastLanded().problem(), "");
  EXPECT_LE(at.latest_node_ns() - at.earliest_node_ns(), 2'000'000);
}

TEST(Core, RevertsWhatDidNotLandInTime) {
  CoreRig rig;
  rig.Connect();
  rig.node.lands = false;
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  rig.Live(seconds(6));
  EXPECT_THAT(rig.LastLanded().problem(), HasSubstr("not seen within 5000 ms"));
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "apply failed");
  EXPECT_TRUE(rig.node.records.empty());
}

TEST(Core, ALookThatFailsIsNeitherLandedNorGone) {
  CoreRig rig;
  rig.Connect();
  rig.node.look_fails = true;
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  rig.Live(seconds(12));
  EXPECT_THAT(rig.LastLanded().problem(), HasSubstr("cannot look"));
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_THAT(rig.LastReverted().problem(), HasSubstr("cannot look"));
  EXPECT_EQ(rig.LastReverted().by_hand(), "kill -CONT 7");
  EXPECT_TRUE(rig.node.records.contains("1.a.0")) << "the promise stands";
  EXPECT_TRUE(rig.core.UndoNotConfirmed());
}

TEST(Core, AnApplyThatFailsStillOwesARevert) {
  CoreRig rig;
  rig.Connect();
  rig.node.apply = absl::InternalError("half done");
  rig.Hold(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.LastLanded().problem(), "half done");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "apply failed");
}

TEST(Core, TriesARevertAgainUntilItIsSeenGone) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.revert = absl::UnavailableError("busy");
  rig.Revert("1.a.0");
  rig.Advance(milliseconds(600));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0);
  rig.node.revert = Ok();
  rig.Advance(milliseconds(300));
  EXPECT_TRUE(rig.LastReverted().confirmed());
}

TEST(Core, SaysWhenAnUndoCannotBeConfirmedAndTriesAgainWhenAsked) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.comes_off = false;
  rig.Revert("1.a.0");
  rig.Live(seconds(6));
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_THAT(rig.LastReverted().problem(), HasSubstr("still there"));
  EXPECT_TRUE(rig.core.UndoNotConfirmed());
  EXPECT_TRUE(rig.core.AtRest());

  rig.node.comes_off = true;
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_FALSE(rig.core.UndoNotConfirmed());
}

TEST(Core, LeavesWhatSomebodyElseChanged) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.foreign = true;
  rig.Revert("1.a.0");
  rig.Live(seconds(6));
  EXPECT_TRUE(rig.LastReverted().foreign());
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_TRUE(rig.node.records.contains("1.a.0"));
}

TEST(Core, KeepsTheRecordInMindWhenItCannotBeRemoved) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.discharge = absl::DataLossError("fsync");
  rig.Revert("1.a.0");
  EXPECT_FALSE(rig.LastReverted().confirmed());
  EXPECT_THAT(rig.LastReverted().problem(), HasSubstr("fsync"));
  EXPECT_TRUE(rig.core.UndoNotConfirmed());
}

TEST(Core, HasNothingToUndoForAKill) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0", "process.kill"));
  EXPECT_EQ(rig.LastLanded().problem(), "");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "irreversible: nothing to undo");
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_THAT(rig.node.calls, testing::Not(testing::Contains("revert 1.a.0")));
}

TEST(Core, EndsAFaultAtItsOwnMaximum) {
  CoreRig rig;
  rig.Connect();
  auto ask = CoreRig::Ask("1.a.0");
  ask.set_max_hold_ns(Nanos(seconds(7)).count());
  rig.Hold(ask);
  rig.Live(seconds(6));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0);
  rig.Live(seconds(1));
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "maximum");
}

TEST(Core, NeverHoldsAFaultLongerThanThePolicyAllows) {
  CoreRig rig;
  rig.Connect();
  auto ask = CoreRig::Ask("1.a.0");
  ask.set_max_hold_ns(Nanos(std::chrono::hours(1)).count());
  rig.Hold(ask);
  rig.Live(seconds(59));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0);
  rig.Live(seconds(2));
  EXPECT_EQ(rig.LastReverted().reason(), "maximum");
}

TEST(Core, HoldsAFaultWhoseTargetThePipelineReplaced) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.effects.clear();
  rig.Live(seconds(2));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0) << "what the pipeline does is not for the node to judge";
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
}

TEST(Core, MissesAnInstantThatIsPastAndFiresNothing) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", milliseconds(-3));
  EXPECT_EQ(rig.LastMissed().late_ns(), Nanos(milliseconds(3)).count());
  rig.Advance(seconds(3));
  EXPECT_THAT(rig.node.calls, ElementsAre("prepare 1.a.0"));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_armed), 0);
}

TEST(Core, MissesAnInstantThatPassedWhileItWasRecorded) {
  CoreRig rig;
  rig.Connect();
  rig.node.record_takes = milliseconds(800);
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", milliseconds(500));
  EXPECT_EQ(rig.LastMissed().late_ns(), Nanos(milliseconds(300)).count());
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_TRUE(rig.core.AtRest());
}

TEST(Core, MissesAnInstantThatItSleptThrough) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", milliseconds(500));
  rig.now += milliseconds(600);
  rig.Feed(Tick{});
  EXPECT_EQ(rig.LastMissed().late_ns(), Nanos(milliseconds(100)).count());
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_THAT(rig.node.calls, testing::Not(testing::Contains("apply 1.a.0")));
}

TEST(Core, RefusesAnInstantThatIsAbsurdlyFarAway) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", std::chrono::hours(1));
  EXPECT_THAT(rig.LastArmed().problem(), HasSubstr("too far away"));
  EXPECT_TRUE(rig.node.records.empty());
}

TEST(Core, DoesNotArmWhatCouldNotBeRecorded) {
  CoreRig rig;
  rig.Connect();
  rig.node.record = absl::ResourceExhaustedError("disk full");
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  EXPECT_EQ(rig.LastArmed().problem(), "disk full");
  rig.Advance(seconds(1));
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0) << "the answer was Armed with a problem";
  EXPECT_TRUE(rig.core.AtRest());
}

TEST(Core, CancelsAnArmedFaultWithoutTouchingTheTarget) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  rig.Cancel("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "cancelled");
  rig.Advance(seconds(1));
  EXPECT_THAT(rig.node.calls, ElementsAre("prepare 1.a.0", "record 1.a.0", "discharge 1.a.0"));
}

TEST(Core, ANameMayComeAgainInAnotherPlanOnceItsFaultIsOver) {
  CoreRig rig;
  rig.Connect();
  v1::Prepare first = CoreRig::Ask("1.a.0");
  first.set_plan_digest("one plan");
  rig.Prepare(first);
  v1::Prepare second = CoreRig::Ask("1.a.0");
  second.set_plan_digest("another plan");
  rig.Prepare(second);
  EXPECT_NE(rig.LastPrepared().problem(), "") << "the first is still there";
  rig.Cancel("1.a.0");
  rig.Prepare(second);
  EXPECT_EQ(rig.LastPrepared().problem(), "");
}

TEST(Core, CancelsWhatWasOnlyPrepared) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Cancel("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_THAT(rig.node.calls, ElementsAre("prepare 1.a.0"));
}

TEST(Core, SaysThatItWasWithdrawnBeforeItWasSeen) {
  CoreRig rig;
  rig.Connect();
  rig.node.lands = false;
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0");
  rig.Advance(milliseconds(600));
  rig.Cancel("1.a.0");
  EXPECT_THAT(rig.LastLanded().problem(), HasSubstr("withdrawn before it was seen"));
  EXPECT_EQ(rig.LastReverted().reason(), "cancelled");
  EXPECT_TRUE(rig.LastReverted().confirmed());
}

}  // namespace
}  // namespace triodrill::agent
