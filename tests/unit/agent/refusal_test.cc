// What is refused, and trials in which nothing is applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/agent/core_rig.h"

namespace triodrill::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- sham

TEST(Sham, DoesEverythingButApply) {
  CoreRig rig;
  rig.Connect();
  auto ask = CoreRig::Ask("1.a.0");
  ask.set_sham(true);
  rig.Prepare(ask);
  rig.Arm("1.a.0");
  const TimePoint fire_at = rig.now + milliseconds(500);
  EXPECT_EQ(rig.LastArmed().problem(), "");
  rig.Advance(milliseconds(510));
  EXPECT_EQ(rig.LastLanded().at().earliest_node_ns(), ToNanos(fire_at));
  EXPECT_EQ(rig.LastLanded().at().latest_node_ns(), ToNanos(fire_at));
  EXPECT_EQ(rig.LastLanded().evidence(), "sham: nothing was applied");
  rig.Live(seconds(2));
  EXPECT_EQ(rig.Count(&v1::AgentSays::has_reverted), 0) << "it is held like a real one";
  rig.Revert("1.a.0");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_THAT(rig.node.calls, ElementsAre("prepare 1.a.0"));
}

TEST(Sham, OfAKillIsOverAtOnce) {
  CoreRig rig;
  rig.Connect();
  auto ask = CoreRig::Ask("1.a.0", "process.kill");
  ask.set_sham(true);
  rig.Hold(ask);
  EXPECT_EQ(rig.LastLanded().evidence(), "sham: nothing was applied");
  EXPECT_TRUE(rig.LastReverted().confirmed());
  EXPECT_TRUE(rig.core.AtRest());
}

TEST(Sham, ObeysThePolicyAndItsMaximum) {
  CoreRig rig;
  rig.Connect();
  auto ask = CoreRig::Ask("1.a.0", "cpu.throttle");
  ask.set_sham(true);
  rig.Prepare(ask);
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("does not allow cpu.throttle"));
  ask = CoreRig::Ask("1.b.0");
  ask.set_sham(true);
  ask.set_max_hold_ns(1'000'000'000);
  rig.Hold(ask);
  rig.Live(seconds(2));
  EXPECT_EQ(rig.LastReverted().reason(), "maximum");
}

// ---- what is refused

TEST(Policy, RefusesANodeThatIsNotOfAShadowPartition) {
  Settings settings = CoreRig::DefaultSettings();
  settings.policy.set_shadow(false);
  CoreRig rig(settings, {});
  rig.Connect();
  EXPECT_FALSE(rig.LastHello().shadow());
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("shadow"));
  EXPECT_THAT(rig.node.calls, IsEmpty());
}

TEST(Policy, RefusesWhatItDoesNotName) {
  CoreRig rig;
  rig.Connect();
  rig.Prepare(CoreRig::Ask("1.a.0", "cpu.throttle"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("does not allow cpu.throttle"));
  EXPECT_THAT(rig.node.calls, IsEmpty());
}

TEST(Policy, RefusesProtectedInterfaces) {
  CoreRig rig;
  rig.Connect();
  for (const char* name : {"mgmt0", "lo"}) {
    auto ask = CoreRig::Ask("1.a.0", "link.down");
    ask.mutable_fault()->mutable_target()->mutable_link()->set_name(name);
    rig.Prepare(ask);
    EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr(std::string("protects the interface ") + name));
  }
  rig.Prepare(CoreRig::Ask("1.a.0", "link.down"));
  EXPECT_EQ(rig.LastPrepared().problem(), "");
}

TEST(Core, RefusesWhatMakesNoSense) {
  CoreRig rig;
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("no run"));
  rig.Connect();
  for (const char* name : {"", "..", "a/b", ".hidden", "a b"}) {
    rig.Prepare(CoreRig::Ask(name));
    EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("its name")) << name;
  }
  auto other_run = CoreRig::Ask("1.a.0");
  other_run.mutable_fault()->set_run_id("r2");
  rig.Prepare(other_run);
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("r2"));
  auto wrong_parameters = CoreRig::Ask("1.a.0");
  wrong_parameters.mutable_fault()->mutable_with()->mutable_link_down();
  rig.Prepare(wrong_parameters);
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("parameters"));
  rig.Prepare(CoreRig::Ask("1.a.0", "process.teleport"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("knows no fault"));
  EXPECT_THAT(rig.node.calls, IsEmpty());
}

TEST(Core, GrantsNoLeaseBeyondItsBounds) {
  for (const int64_t lease : {int64_t{1}, int64_t{3}, int64_t{99'999'999}, int64_t{60'000'000'001},
                              std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    CoreRig rig;
    rig.Feed(LinkUp{});
    v1::CoordinatorSays says;
    says.mutable_welcome()->set_run_id("r1");
    says.mutable_welcome()->set_lease_ns(lease);
    rig.Hear(says);
    EXPECT_FALSE(rig.core.NextWake().has_value()) << lease << ": it is kept busy";
    rig.Prepare(CoreRig::Ask("1.a.0"));
    EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("asks for a lease of")) << lease;
    EXPECT_TRUE(rig.node.records.empty());
  }
}

TEST(Core, PassesOnWhyAnInjectorWillNot) {
  CoreRig rig;
  rig.Connect();
  rig.node.prepare = absl::NotFoundError("pid 7 is another process by now");
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.LastPrepared().problem(), "pid 7 is another process by now");
  rig.node.prepare = Ok();
  rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(rig.LastPrepared().problem(), "") << "nothing had happened under that name";
}

TEST(Core, RefusesAFaultOfSeveralResourcesIfOneIsTaken) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.node.further_resource = rig.node.resource;
  rig.node.resource = "node/1";
  rig.Prepare(CoreRig::Ask("1.b.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("shot 1.a.0 holds process/7@1/state"));
}

TEST(Core, RefusesASecondFaultOnOneResource) {
  CoreRig rig;
  rig.Connect();
  rig.Hold(CoreRig::Ask("1.a.0"));
  rig.Prepare(CoreRig::Ask("1.b.0"));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("shot 1.a.0 holds"));
  rig.Revert("1.a.0");
  rig.Prepare(CoreRig::Ask("1.b.0"));
  EXPECT_EQ(rig.LastPrepared().problem(), "");
}

}  // namespace
}  // namespace triodrill::agent
