// The coordinator's side of the core: leases, broken streams, repeated and strange messages, the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/agent/core_rig.h"

namespace triodrill::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(Lease, RevertsWhenTheCoordinatorGoesQuiet) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Advance(milliseconds(3400));
  EXPECT_TRUE(rig.node.effects.contains("1.a.0"));
  rig.Advance(milliseconds(100));
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_EQ(rig.LastReverted().reason(), "lease");
  EXPECT_TRUE(rig.LastReverted().confirmed());
}

TEST(Lease, GoesOnOverABrokenStream) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Feed(LinkDown{});
  EXPECT_TRUE(rig.node.effects.contains("1.a.0"));
  rig.Advance(seconds(4));
  EXPECT_TRUE(rig.node.effects.empty());
}

TEST(Lease, AnythingThatIsHeardRenewsIt) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Live(seconds(20));
  EXPECT_TRUE(rig.node.effects.contains("1.a.0"));
}

TEST(Lease, DisarmsWhatWasNotFiredYet) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", seconds(10));
  rig.Advance(seconds(20));
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_EQ(rig.LastReverted().reason(), "lease");
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_landed), 0);
}

TEST(Lease, CountsFromWhenAMessageWasReadNotFromWhenItWasHandled) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  v1::CoordinatorSays renewal;
  renewal.mutable_lease();
  const TimePoint read_at = rig.now;
  rig.now += seconds(3);  // the thread was busy
  rig.Feed(Heard{renewal, read_at});
  rig.Advance(seconds(1));
  EXPECT_EQ(rig.LastReverted().reason(), "lease");
}

TEST(Stream, SaysAHeartbeatEachQuarterOfTheLease) {
  CoreRig rig;
  rig.Connect();
  rig.Live(seconds(8));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_heartbeat), 8);
  rig.Feed(LinkDown{});
  rig.said.clear();
  rig.Advance(seconds(8));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_heartbeat), 0);
  EXPECT_FALSE(rig.core.NextWake().has_value()) << "asleep while nobody is there";
}

TEST(Stream, GreetsWithWhatIsOpen) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Feed(LinkDown{});
  rig.Feed(LinkUp{});
  const v1::Hello hello = rig.LastHello();
  EXPECT_EQ(hello.node(), "n1");
  EXPECT_EQ(hello.max_hold_ns(), Nanos(seconds(60)).count());
  EXPECT_EQ(hello.policy_faults_size(), 3);
  ASSERT_EQ(hello.open_size(), 1);
  EXPECT_EQ(hello.open(0).shot(), "1.a.0");
  EXPECT_EQ(hello.open(0).problem(), "") << "held on purpose";
}

TEST(Stream, SaysAgainWhatMayHaveBeenLost) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Feed(LinkDown{});
  rig.Advance(seconds(5));  // the lease ends meanwhile
  rig.said.clear();
  rig.Connect();
  EXPECT_EQ(rig.LastReverted().shot(), "1.a.0");
  EXPECT_EQ(rig.LastReverted().reason(), "lease");
  EXPECT_EQ(rig.LastLanded().shot(), "1.a.0");
}

TEST(Stream, DoesNotRepeatAnothersRun) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Feed(LinkDown{});
  rig.said.clear();
  rig.Connect("r2");
  EXPECT_EQ(rig.LastReverted().reason(), "another run") << "whoever asked for it is gone";
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_landed), 0);
  EXPECT_TRUE(rig.node.effects.empty());
}

TEST(Stream, StopsWatchingWhenNobodyListens) {
  CoreRig rig;
  rig.Connect();
  v1::CoordinatorSays says;
  says.mutable_watch()->mutable_rank_process()->set_command_line("train");
  rig.Hear(says);
  EXPECT_EQ(rig.watching.rank_process().command_line(), "train");
  rig.Feed(LinkDown{});
  EXPECT_FALSE(rig.watching.has_rank_process());
}

TEST(Goodbye, RevertsEverythingAndForgetsTheRun) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Goodbye();
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_EQ(rig.LastReverted().reason(), "run over");
  rig.Prepare(CoreRig::Ask("1.b.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("no run"));
  EXPECT_FALSE(rig.core.NextWake().has_value());
}

TEST(ShutDown, RevertsEverythingAndBeginsNothing) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.resource = "another";
  rig.Prepare(CoreRig::Ask("1.b.0"));
  rig.Arm("1.b.0");
  rig.Feed(ShutDown{});
  EXPECT_TRUE(rig.node.effects.empty());
  EXPECT_TRUE(rig.node.records.empty());
  EXPECT_TRUE(rig.core.AtRest());
  EXPECT_FALSE(rig.core.UndoNotConfirmed());
  rig.Prepare(CoreRig::Ask("1.c.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("shutting down"));
}

TEST(ShutDown, EndsEvenIfAnUndoCannotBeSeen) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.comes_off = false;
  rig.Feed(ShutDown{});
  EXPECT_FALSE(rig.core.AtRest());
  rig.Advance(seconds(6));
  EXPECT_TRUE(rig.core.AtRest());
  EXPECT_TRUE(rig.core.UndoNotConfirmed());
}

// ---- repeated, early, late, unknown

TEST(Messages, TheSamePrepareTwiceIsAnsweredTwiceAndDoneOnce) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_prepared), 2);
  EXPECT_EQ(rig.LastPrepared().problem(), "");
  EXPECT_EQ(rig.node.calls.size(), 1u);
}

TEST(Messages, AnotherFaultUnderAUsedNameIsRefused) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Prepare(CoreRig::Ask("1.a.0", "process.kill"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("another fault has this name"));
  rig.Arm("1.a.0");
  rig.Advance(milliseconds(510));
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("armed or ended already"));
}

TEST(Messages, ARepeatedArmIsConfirmedAndADifferentOneRefused) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  rig.Arm("1.a.0", milliseconds(500));
  rig.Arm("1.a.0", milliseconds(500));
  EXPECT_EQ(rig.LastArmed().problem(), "");
  rig.Arm("1.a.0", milliseconds(700));
  EXPECT_NE(rig.LastArmed().problem(), "");
  rig.Advance(milliseconds(510));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_landed), 1);
  rig.Arm("1.a.0", milliseconds(500));
  EXPECT_NE(rig.LastArmed().problem(), "") << "a fault is fired once";
}

TEST(Messages, NamesNobodyPreparedAreAnsweredAsSuch) {
  CoreRig rig;
  rig.Connect();
  rig.Arm("9.z.0");
  EXPECT_THAT(rig.LastArmed().problem(), HasSubstr("not prepared"));
  rig.Revert("9.z.0");
  EXPECT_FALSE(rig.LastReverted().confirmed()) << "not known is not reverted";
  EXPECT_THAT(rig.LastReverted().problem(), HasSubstr("not known"));
}

TEST(Messages, ASecondRevertIsAnsweredWithWhatBecameOfTheFirst) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Revert("1.a.0");
  rig.Revert("1.a.0");
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 2);
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.node.calls.back(), "discharge 1.a.0");
  EXPECT_EQ(std::count(rig.node.calls.begin(), rig.node.calls.end(), "revert 1.a.0"), 1);
}

TEST(Messages, OpenFaultsAreReportedWhenAskedFor) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  v1::CoordinatorSays says;
  says.mutable_report_open_faults();
  rig.Hear(says);
  ASSERT_EQ(rig.said.back().open_faults().open_size(), 1);
  EXPECT_EQ(rig.said.back().open_faults().open(0).kind(), "process.pause");
}

// ---- what the replay left

ReplayOutcome Left(const std::string& shot, bool confirmed) {
  ReplayOutcome outcome;
  outcome.file = shot + ".undo";
  outcome.confirmed = confirmed;
  outcome.record.mutable_fault()->set_shot(shot);
  outcome.record.mutable_fault()->set_run_id("r1");
  outcome.record.mutable_fault()->set_kind("process.pause");
  outcome.record.set_resource("process/7@1/state");
  outcome.record.set_by_hand("kill -CONT 7");
  if (!confirmed) outcome.problem = "still there";
  return outcome;
}

TEST(Replay, TellsTheRunThatAskedForItThatItIsUndone) {
  CoreRig rig({Left("1.a.0", true)});
  rig.Connect("r1");
  EXPECT_EQ(rig.LastHello().open_size(), 0);
  EXPECT_EQ(rig.LastReverted().shot(), "1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "replay");
}

TEST(Replay, KeepsWhatCouldNotBeUndoneOpenUntilItIs) {
  CoreRig rig({Left("1.a.0", false)});
  rig.node.records.insert("1.a.0");
  rig.Connect("r2");
  ASSERT_EQ(rig.LastHello().open_size(), 1);
  EXPECT_EQ(rig.LastHello().open(0).problem(), "still there");
  EXPECT_EQ(rig.LastHello().open(0).by_hand(), "kill -CONT 7");
  auto ask = CoreRig::Ask("1.b.0");
  ask.mutable_fault()->set_run_id("r2");
  rig.Prepare(ask);
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("holds process/7@1/state"));
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  rig.Prepare(ask);
  EXPECT_EQ(rig.LastPrepared().problem(), "");
}

v1::Discharged TraceOf(const std::string& shot, const std::string& run, const std::string& boot = "boot") {
  v1::Discharged trace;
  trace.set_shot(shot);
  trace.set_run_id(run);
  trace.set_boot_id(boot);
  trace.set_earliest_ns(-20);
  trace.set_latest_ns(-10);
  return trace;
}

TEST(Replay, ByTheGuardianBeforeIsConfirmedToTheRunThatAsks) {
  CoreRig rig(CoreRig::DefaultSettings(), {}, {TraceOf("1.a.0", "r1")});
  rig.Connect("r1");
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().reason(), "replay");
  EXPECT_EQ(rig.LastReverted().at().earliest_node_ns(), -20);
  EXPECT_EQ(rig.LastReverted().at().latest_node_ns(), -10);
  rig.Revert("1.b.0");
  EXPECT_FALSE(rig.LastReverted().confirmed()) << "nobody has undone that one";
}

TEST(Replay, OfAnotherRunConfirmsNothing) {
  CoreRig rig(CoreRig::DefaultSettings(), {}, {TraceOf("1.a.0", "r0")});
  rig.Connect("r1");
  rig.Revert("1.a.0");
  EXPECT_FALSE(rig.LastReverted().confirmed());
}

TEST(Replay, OnAnEarlierBootHasNoTimeButThatItWasBeforeTheStart) {
  CoreRig rig(CoreRig::DefaultSettings(), {}, {TraceOf("1.a.0", "r1", "another boot")});
  rig.Connect("r1");
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_EQ(rig.LastReverted().at().earliest_node_ns(), 0);
  EXPECT_EQ(rig.LastReverted().at().latest_node_ns(), 1);
}

TEST(Replay, ArmsNothingBesideARecordThatCannotBeRead) {
  ReplayOutcome torn;
  torn.file = "x.undo";
  torn.problem = "checksum";
  CoreRig rig({torn});
  rig.Connect();
  ASSERT_EQ(rig.LastHello().open_size(), 1);
  EXPECT_EQ(rig.LastHello().open(0).problem(), "checksum");
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("cannot be read"));
  EXPECT_TRUE(rig.core.UndoNotConfirmed());
}

// ---- all of it at random

// Whatever comes in whatever order: nothing is applied without a record, at rest nothing is open, and a lease that ends
// ends every fault.
TEST(Chaos, LeavesNothingBehind) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto draw = [&random](int below) { return static_cast<int>(random() % static_cast<uint64_t>(below)); };
    CoreRig rig;
    rig.Connect();
    for (int step = 0; step < 60; ++step) {
      const std::string shot = std::to_string(draw(4));
      rig.node.resource = "resource " + std::to_string(draw(3));
      rig.node.looks_until_present = draw(3) * draw(400);
      rig.node.looks_until_absent = draw(200);
      rig.node.apply = draw(8) == 0 ? absl::InternalError("apply") : Ok();
      rig.node.record = draw(8) == 0 ? absl::InternalError("record") : Ok();
      rig.node.lands = draw(8) != 0;
      auto ask = CoreRig::Ask(shot, draw(3) == 0 ? "process.kill" : "process.pause");
      ask.set_sham(draw(4) == 0);
      switch (draw(9)) {
        case 0:
        case 1:
          rig.Prepare(ask);
          break;
        case 2:
        case 3:
          rig.Arm(shot, milliseconds(draw(1000) - 100));
          break;
        case 4:
          rig.Revert(shot);
          break;
        case 5:
          rig.Cancel(shot);
          break;
        case 6:
          rig.Advance(milliseconds(draw(6000)));
          break;
        case 7:
          rig.Live(milliseconds(draw(3000)));
          break;
        default:
          rig.Feed(LinkDown{});
          if (draw(2) == 0) rig.Advance(milliseconds(draw(5000)));
          rig.Connect();
          break;
      }
    }
    rig.node.lands = true;
    rig.Feed(LinkDown{});
    rig.Advance(kLease + seconds(11));
    EXPECT_TRUE(rig.core.AtRest());
    EXPECT_TRUE(rig.node.records.empty());
    EXPECT_FALSE(rig.core.UndoNotConfirmed());
    for (const std::string& effect : rig.node.effects) {
      EXPECT_THAT(rig.node.calls, testing::Contains("apply " + effect));  // only kills stay
    }
    EXPECT_FALSE(rig.core.NextWake().has_value());
  }
}

}  // namespace
}  // namespace triodrill::agent
