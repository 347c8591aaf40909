// The node decides by itself whether a fault of tier `confirm` is approved: by its own policy, its own clock and what
// was signed. Nothing that is sent can widen that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/agent/core_rig.h"
#include "tests/unit/signed/approver.h"

namespace triodrill::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using triodrill::testing::ApprovalOf;
using triodrill::testing::DigestOf;
using triodrill::testing::kNow_s;
using triodrill::testing::LostParameters;
using triodrill::testing::Person;

Settings ThatTrust(const std::vector<const Person*>& persons, int wanted = 1) {
  Settings settings = CoreRig::DefaultSettings();
  settings.policy.add_faults("node.lost");
  for (const Person* person : persons) *settings.policy.add_approvers() = person->entry();
  settings.policy.set_approvals(wanted);
  return settings;
}

v1::Prepare AskForLost(const std::vector<std::string>& approvals) {
  v1::Prepare prepare;
  v1::AimedFault& fault = *prepare.mutable_fault();
  fault.set_shot("1.lost.0");
  fault.set_run_id("r1");
  fault.set_kind("node.lost");
  *fault.mutable_with() = LostParameters();
  fault.mutable_target()->mutable_process()->set_pid(7);
  prepare.set_max_hold_ns(30'000'000'000);
  prepare.set_plan_digest(DigestOf('a'));
  prepare.set_fault_id("lost");
  for (const std::string& approval : approvals) prepare.add_approvals(approval);
  return prepare;
}

struct Node {
  Person ana{"ana"};
  Person ben{"ben"};
  CoreRig rig;
  std::optional<int64_t> wall_s = kNow_s;

  explicit Node(int wanted = 1) : rig(ThatTrust({&ana, &ben}, wanted), {}) { rig.Connect(); }
  std::string Good() const { return ana.Approve(ApprovalOf(DigestOf('a'))); }

  void Hear(const v1::CoordinatorSays& says) { rig.Feed(Heard{says, rig.now, wall_s}); }
  std::string Prepare(const v1::Prepare& prepare) {
    v1::CoordinatorSays says;
    *says.mutable_prepare() = prepare;
    Hear(says);
    return rig.LastPrepared().problem();
  }
  std::string Arm() {
    v1::CoordinatorSays says;
    says.mutable_arm()->set_shot("1.lost.0");
    says.mutable_arm()->set_fire_at_node_ns(ToNanos(rig.now + std::chrono::milliseconds(500)));
    Hear(says);
    return rig.LastArmed().problem();
  }
};

TEST(NodeApproval, LetsAnApprovedFaultBeFired) {
  Node node;
  EXPECT_EQ(node.Prepare(AskForLost({node.Good()})), "");
  EXPECT_EQ(node.Arm(), "");
  node.rig.Advance(std::chrono::milliseconds(510));
  EXPECT_TRUE(node.rig.node.effects.contains("1.lost.0"));
}

TEST(NodeApproval, IsNotAskedForAFaultOfTierAuto) {
  Node node;
  node.rig.Prepare(CoreRig::Ask("1.a.0"));
  EXPECT_EQ(node.rig.LastPrepared().problem(), "");
}

TEST(NodeApproval, SaysBeforehandWhatItWants) {
  Node node(2);
  const v1::Hello hello = node.rig.LastHello();
  EXPECT_EQ(hello.approvals(), 2);
  EXPECT_THAT(hello.approver_keys(), ElementsAre(node.ana.key().id(), node.ben.key().id()));
  EXPECT_EQ(hello.approvals_waived(), "");
}

struct Denial {
  std::string name;
  std::function<void(Node&, v1::Prepare&)> spoil;
  std::string says;
};

class NodeDenies : public ::testing::TestWithParam<Denial> {};

TEST_P(NodeDenies, AndTouchesNothing) {
  Node node;
  v1::Prepare prepare = AskForLost({node.Good()});
  GetParam().spoil(node, prepare);
  EXPECT_THAT(node.Prepare(prepare), HasSubstr(GetParam().says));
  EXPECT_THAT(node.rig.node.calls, IsEmpty());
  EXPECT_THAT(node.Arm(), HasSubstr("was not prepared here"));
}

const Denial kDenials[] = {
    {"WithoutAny", [](Node&, v1::Prepare& p) { p.clear_approvals(); }, "0 of 1 person"},
    {"OfAnotherPlan", [](Node&, v1::Prepare& p) { p.set_plan_digest(DigestOf('b')); }, "another plan"},
    {"OfNoPlan", [](Node&, v1::Prepare& p) { p.clear_plan_digest(); }, "another plan"},
    {"OfAnotherFault", [](Node&, v1::Prepare& p) { p.set_fault_id("other"); }, "0 of 1 person"},
    {"OfOtherParameters",
     [](Node&, v1::Prepare& p) { p.mutable_fault()->mutable_with()->mutable_node_lost()->set_match("sshd"); },
     "0 of 1 person"},
    {"ForLonger", [](Node&, v1::Prepare& p) { p.set_max_hold_ns(p.max_hold_ns() + 1); }, "0 of 1 person"},
    {"WithoutAnEnd", [](Node&, v1::Prepare& p) { p.set_max_hold_ns(0); }, "0 of 1 person"},
    {"OnAnotherNode",
     [](Node& n, v1::Prepare& p) {
       v1::Approval approval = ApprovalOf(DigestOf('a'));
       approval.mutable_faults(0)->add_nodes("n2");
       p.set_approvals(0, n.ana.Approve(approval));
     },
     "0 of 1 person"},
    {"ByAStranger", [](Node&, v1::Prepare& p) { p.set_approvals(0, Person("ana").Approve(ApprovalOf(DigestOf('a')))); },
     "no approver's here"},
    {"Expired", [](Node& n, v1::Prepare&) { n.wall_s = kNow_s + 3600 + kApprovalTolerance_s; }, "expired"},
    {"FromTheFuture", [](Node& n, v1::Prepare&) { n.wall_s = 0; }, "by this clock"},
    {"WithoutAClock", [](Node& n, v1::Prepare&) { n.wall_s.reset(); }, "clock cannot be read"},
    {"CutShort", [](Node& n, v1::Prepare& p) { p.set_approvals(0, n.Good().substr(0, n.Good().size() / 2)); },
     "not a DSSE envelope"},
    {"AThousand",
     [](Node& n, v1::Prepare& p) {
       for (int i = 0; i < 1000; ++i) p.add_approvals(n.Good());
     },
     "1001 approvals"},
};

INSTANTIATE_TEST_SUITE_P(Each, NodeDenies, ::testing::ValuesIn(kDenials),
                         [](const auto& tested) { return tested.param.name; });

TEST(NodeApproval, ThatExpiredMeanwhileArmsNothing) {
  Node node;
  ASSERT_EQ(node.Prepare(AskForLost({node.Good()})), "");
  node.wall_s = kNow_s + 3600 + kApprovalTolerance_s;
  EXPECT_THAT(node.Arm(), HasSubstr("expired"));
  node.wall_s.reset();
  EXPECT_THAT(node.Arm(), HasSubstr("clock cannot be read"));
  EXPECT_THAT(node.rig.node.records, IsEmpty());
  EXPECT_THAT(node.rig.node.calls, ElementsAre("prepare 1.lost.0"));
}

TEST(NodeApproval, OnceArmedIsNotAskedForAgain) {
  Node node;
  ASSERT_EQ(node.Prepare(AskForLost({node.Good()})), "");
  ASSERT_EQ(node.Arm(), "");
  node.wall_s = kNow_s + 3600 + kApprovalTolerance_s;
  EXPECT_EQ(node.Arm(), "") << "the same order twice is answered twice";
}

TEST(NodeApproval, OfTwoPersonsIsOfTwoPersons) {
  Node node(2);
  EXPECT_THAT(node.Prepare(AskForLost({node.Good()})), HasSubstr("1 of 2 persons"));
  EXPECT_THAT(node.Prepare(AskForLost({node.Good(), node.Good()})), HasSubstr("one person counts once"));
  EXPECT_EQ(node.Prepare(AskForLost({node.Good(), node.ben.Approve(ApprovalOf(DigestOf('a')))})), "");
}

TEST(NodeApproval, IsNotSpoiltByOneThatThisNodeDoesNotKnow) {
  Node node;
  EXPECT_EQ(node.Prepare(AskForLost({Person("carl").Approve(ApprovalOf(DigestOf('a'))), node.Good()})), "");
}

TEST(NodeApproval, OfAPolicyWithoutApproversIsNever) {
  Person ana("ana");
  CoreRig rig(ThatTrust({}, 0), {});
  rig.Connect();
  v1::CoordinatorSays says;
  *says.mutable_prepare() = AskForLost({ana.Approve(ApprovalOf(DigestOf('a')))});
  rig.Feed(Heard{says, rig.now, kNow_s});
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("nobody is named who may approve it"));
  EXPECT_THAT(rig.node.calls, IsEmpty());
}

TEST(NodeApproval, OfAPolicyThatContradictsItselfIsNever) {
  Settings settings = ThatTrust({}, 0);
  settings.policy.set_waive_approvals("a sandbox");
  settings.policy.set_approvals(1);
  CoreRig rig(settings, {});
  rig.Connect();
  EXPECT_EQ(rig.LastHello().approvals_waived(), "");
  rig.Prepare(AskForLost({}));
  EXPECT_THAT(rig.LastPrepared().problem(), HasSubstr("nobody is named who may approve it"));
}

TEST(NodeApproval, IsWaivedByItsOwnPolicyAlone) {
  Settings settings = ThatTrust({}, 0);
  settings.policy.set_waive_approvals("a sandbox");
  CoreRig rig(settings, {});
  rig.Connect();
  EXPECT_EQ(rig.LastHello().approvals_waived(), "a sandbox");
  rig.Prepare(AskForLost({}));
  EXPECT_EQ(rig.LastPrepared().problem(), "");
}

}  // namespace
}  // namespace triodrill::agent
