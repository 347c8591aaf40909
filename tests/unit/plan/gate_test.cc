#include "coordinator/gate/gate.h"

#include <functional>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/plan/world.h"

namespace triodrill {
namespace {

using gate::Gate;
using gate::Permit;
using gate::Situation;
using testing::AbleNodes;
using testing::PauseDrill;
using testing::PlanOf;
using testing::Seconds;

static_assert(!std::is_copy_constructible_v<Permit>);
static_assert(!std::is_default_constructible_v<Permit>);
static_assert(!std::is_default_constructible_v<gate::PermittedShot>);

// A situation in which everything is as it should be.
struct Scene {
  v1::Plan plan = PlanOf(PauseDrill());
  Situation now;

  Scene() {
    now.plan = &plan;
    now.plan_digest = "cafe";
    now.digest_on_disk = "cafe";
    now.trial = 1;
    for (const auto& [name, hello] : AbleNodes()) {
      now.nodes[name] = {hello, std::vector<v1::OpenFault>{}, std::chrono::microseconds(50)};
    }
    gate::Resolved target{.shot = "1.pause.0", .node = plan.trials(0).shots(0).node(), .slot = "n0/0"};
    target.identity.mutable_process()->set_pid(77);
    now.targets = {target};
    now.exclusive = now.watchers_healthy = now.baseline_steady = true;
    now.quiet = std::chrono::seconds(4);
  }

  std::vector<std::string> Denied() const {
    std::vector<std::string> denied;
    const gate::Decision decision = Gate::Evaluate(now);
    for (const v1::Check& check : decision.checks) {
      if (!check.passed()) denied.push_back(check.name());
    }
    EXPECT_EQ(decision.permit.has_value(), denied.empty());
    return denied;
  }
};

TEST(Gate, PermitsWhenEveryCheckPasses) {
  Scene scene;
  gate::Decision decision = Gate::Evaluate(scene.now);
  ASSERT_TRUE(decision.permit.has_value());
  EXPECT_EQ(decision.checks.size(), 16u);
  const std::vector<gate::PermittedShot> shots = std::move(*decision.permit).Spend();
  ASSERT_EQ(shots.size(), 1u);
  EXPECT_EQ(shots[0].name(), "1.pause.0");
  EXPECT_EQ(shots[0].identity().process().pid(), 77);
  EXPECT_EQ(shots[0].plan_digest(), "cafe");
}

struct Case {
  std::string name;   // of the test
  std::string check;  // that must be the only one to deny
  std::function<void(Scene&)> spoil;
};

class GateDenies : public ::testing::TestWithParam<Case> {};

TEST_P(GateDenies, ExactlyThatCheck) {
  Scene scene;
  GetParam().spoil(scene);
  EXPECT_THAT(scene.Denied(), ::testing::ElementsAre(GetParam().check));
}

v1::OpenFault OpenPause() {
  v1::OpenFault fault;
  fault.set_kind("process.pause");
  return fault;
}

const Case kCases[] = {
    {"NotShadow", "partition_is_shadow",
     [](Scene& s) { s.plan.mutable_partition()->mutable_spec()->set_shadow(false); }},
    {"HoldTooLong", "hold_is_bounded",
     [](Scene& s) { *s.plan.mutable_trials(0)->mutable_shots(0)->mutable_hold()->mutable_max() = Seconds(61); }},
    {"HoldMissing", "hold_is_bounded", [](Scene& s) { s.plan.mutable_trials(0)->mutable_shots(0)->clear_hold(); }},
    {"TooFewStayAlive", "failure_domain_cap",
     [](Scene& s) { s.plan.mutable_partition()->mutable_spec()->mutable_limits()->set_min_alive_nodes(3); }},
    {"AnotherPlan", "plan_is_the_one_written", [](Scene& s) { s.now.digest_on_disk = "beef"; }},
    {"PlanUnreadable", "plan_is_the_one_written", [](Scene& s) { s.now.digest_on_disk.reset(); }},
    {"LockLost", "partition_is_ours", [](Scene& s) { s.now.exclusive = false; }},
    {"LockUnknown", "partition_is_ours", [](Scene& s) { s.now.exclusive.reset(); }},
    {"NodeNotShadow", "node_policies_agree", [](Scene& s) { s.now.nodes["n1"].hello->set_shadow(false); }},
    {"AgentMissing", "node_policies_agree", [](Scene& s) { s.now.nodes["n1"].hello.reset(); }},
    {"PolicyForbids", "faults_are_possible",
     [](Scene& s) {
       for (auto& [name, node] : s.now.nodes) node.hello->clear_policy_faults();
     }},
    {"PolicyHoldsShorter", "faults_are_possible",
     [](Scene& s) {
       for (auto& [name, node] : s.now.nodes) node.hello->set_max_hold_ns(1);
     }},
    {"TargetGone", "targets_are_identities", [](Scene& s) { s.now.targets->front().problem = "no rank runs at n0/0"; }},
    {"TargetWithoutIdentity", "targets_are_identities", [](Scene& s) { s.now.targets->front().identity.Clear(); }},
    {"TargetsUnknown", "targets_are_identities", [](Scene& s) { s.now.targets.reset(); }},
    {"TargetsTooMany", "targets_are_identities", [](Scene& s) { s.now.targets->push_back(s.now.targets->front()); }},
    {"OpenUndo", "no_open_undo", [](Scene& s) { s.now.nodes["n2"].open = {OpenPause()}; }},
    {"JournalUnknown", "no_open_undo", [](Scene& s) { s.now.nodes["n2"].open.reset(); }},
    {"ClockLoose", "clocks_are_known",
     [](Scene& s) { s.now.nodes["n0"].clock_uncertainty = std::chrono::milliseconds(21); }},
    {"ClockUnknown", "clocks_are_known", [](Scene& s) { s.now.nodes["n0"].clock_uncertainty.reset(); }},
    {"WatcherSick", "watchers_are_healthy", [](Scene& s) { s.now.watchers_healthy = false; }},
    {"WatcherUnknown", "watchers_are_healthy", [](Scene& s) { s.now.watchers_healthy.reset(); }},
    {"NotSteady", "baseline_is_steady", [](Scene& s) { s.now.baseline_steady = false; }},
    {"SteadinessUnknown", "baseline_is_steady", [](Scene& s) { s.now.baseline_steady.reset(); }},
    {"NotAtRest", "detectors_are_at_rest", [](Scene& s) { s.now.quiet = std::chrono::seconds(2); }},
    {"RestUnknown", "detectors_are_at_rest", [](Scene& s) { s.now.quiet.reset(); }},
    {"NoSuchTrial", "trial_is_planned", [](Scene& s) { s.now.trial = 9; }},
};

INSTANTIATE_TEST_SUITE_P(Checks, GateDenies, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(Gate, AnUnknownFaultIsNeverOfTierAuto) {
  Scene scene;
  scene.plan.mutable_trials(0)->mutable_shots(0)->set_kind("node.explode");
  EXPECT_THAT(scene.Denied(), ::testing::IsSupersetOf({"tier_is_approved", "hold_is_bounded", "faults_are_possible"}));
}

TEST(Gate, DeniesWithoutAPlan) { EXPECT_FALSE(Gate::Evaluate(Situation{}).permit.has_value()); }

}  // namespace
}  // namespace triodrill
