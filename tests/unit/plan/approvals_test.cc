// The gate and approvals: every way in which a plan with a fault of tier `confirm` is not approved, and the one in
// which it is.
#include "coordinator/gate/approvals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "coordinator/gate/gate.h"
#include "tests/unit/plan/world.h"
#include "tests/unit/signed/approver.h"

namespace triodrill {
namespace {

using gate::Gate;
using testing::AbleNodes;
using testing::DigestOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNow_s;
using testing::Person;
using testing::RequestOf;
using testing::Seconds;

v1::Drill LostDrill(int faulted = 1) {
  v1::Drill drill = testing::EmptyDrill(faulted, 0);
  v1::Fault& fault = testing::AddFault(drill, "lost", "node.lost");
  fault.mutable_hold()->set_until("isolated");
  *fault.mutable_hold()->mutable_max() = Seconds(8);
  return drill;
}

v1::Plan PlanWith(const std::vector<const Person*>& persons, int wanted, const std::string& waived = "") {
  plan::Request request = RequestOf(LostDrill());
  for (const Person* person : persons) *request.partition.mutable_spec()->add_approvers() = person->entry();
  request.partition.mutable_spec()->set_approvals(wanted);
  request.partition.mutable_spec()->set_waive_approvals(waived);
  return *plan::MakePlan(request).plan;
}

v1::Approval Yes(const v1::Plan& plan) {
  v1::Approval approval = testing::ApprovalOf(DigestOf('c'));
  approval.clear_faults();
  for (const v1::ApprovedFault& fault : FaultsToApprove(plan)) *approval.add_faults() = fault;
  return approval;
}

// Everything as it should be: ana has approved, and each node trusts ana and ben.
struct Scene {
  Person ana{"ana"};
  Person ben{"ben"};
  v1::Plan plan;
  gate::Situation now;

  explicit Scene(int wanted = 1, const std::string& waived = "")
      : plan(waived.empty() ? PlanWith({&ana, &ben}, wanted) : PlanWith({}, 0, waived)) {
    now.plan = &plan;
    now.plan_digest = DigestOf('c');
    now.digest_on_disk = DigestOf('c');
    now.trial = 1;
    for (auto [name, hello] : AbleNodes()) {
      hello.set_approvals(1);
      hello.add_approver_keys(ana.key().id());
      hello.add_approver_keys(ben.key().id());
      now.nodes[name] = {hello, std::vector<v1::OpenFault>{}, std::chrono::microseconds(50)};
    }
    gate::Resolved target{.shot = "1.lost.0", .node = plan.trials(0).shots(0).node(), .slot = "n0/0"};
    target.identity.mutable_process()->set_pid(77);
    now.targets = {target};
    now.exclusive = now.watchers_healthy = now.baseline_steady = true;
    now.quiet = std::chrono::seconds(4);
    now.approvals = {{ana.Approve(Yes(plan))}, kNow_s, "operator"};
  }
  void Give(const std::vector<std::string>& envelopes) { now.approvals.envelopes = envelopes; }

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

TEST(GateApproval, PermitsWhatIsApproved) { EXPECT_THAT(Scene().Denied(), IsEmpty()); }

struct Case {
  std::string name;
  std::vector<std::string> checks;  // that deny, and no others
  std::function<void(Scene&)> spoil;
};

class GateApprovalDenies : public ::testing::TestWithParam<Case> {};

TEST_P(GateApprovalDenies, ExactlyThese) {
  Scene scene;
  GetParam().spoil(scene);
  EXPECT_THAT(scene.Denied(), ::testing::ElementsAreArray(GetParam().checks));
}

const std::vector<std::string> kBoth = {"tier_is_approved", "nodes_accept_approvals"};

v1::Hello& HelloOfTarget(Scene& s) { return *s.now.nodes[s.plan.trials(0).shots(0).node()].hello; }

const Case kCases[] = {
    {"Absent", kBoth, [](Scene& s) { s.Give({}); }},
    {"Unreadable", kBoth, [](Scene& s) { s.Give({"{"}); }},
    {"OfAnotherPlan", kBoth,
     [](Scene& s) {
       v1::Approval other = Yes(s.plan);
       other.set_plan_digest(DigestOf('d'));
       s.Give({s.ana.Approve(other)});
     }},
    {"Expired", kBoth, [](Scene& s) { s.now.approvals.now_s = kNow_s + 3600 + kApprovalTolerance_s; }},
    {"ClockUnknown", kBoth, [](Scene& s) { s.now.approvals.now_s.reset(); }},
    {"ByAnUnknownKey", kBoth, [](Scene& s) { s.Give({Person("ana").Approve(Yes(s.plan))}); }},
    {"OfAnotherFault", kBoth,
     [](Scene& s) {
       v1::Approval other = Yes(s.plan);
       other.mutable_faults(0)->set_id("else");
       s.Give({s.ana.Approve(other)});
     }},
    {"OnAnotherNode", kBoth,
     [](Scene& s) {
       v1::Approval other = Yes(s.plan);
       other.mutable_faults(0)->set_nodes(0, "n9");
       s.Give({s.ana.Approve(other)});
     }},
    {"OneThatIsBadBesideAGoodOne", {"tier_is_approved"}, [](Scene& s) { s.now.approvals.envelopes.push_back("{"); }},
    {"TheSamePersonTwice",
     {"tier_is_approved"},
     [](Scene& s) { s.now.approvals.envelopes.push_back(s.now.approvals.envelopes.front()); }},
    {"NobodyIsNamed", kBoth, [](Scene& s) { s.plan.mutable_partition()->mutable_spec()->clear_approvers(); }},
    {"ApproversUnreadable", kBoth,
     [](Scene& s) { s.plan.mutable_partition()->mutable_spec()->mutable_approvers(0)->set_key("?"); }},
    {"TheNodeTrustsOthers",
     {"nodes_accept_approvals"},
     [](Scene& s) {
       HelloOfTarget(s).clear_approver_keys();
       HelloOfTarget(s).add_approver_keys(s.ben.key().id());
     }},
    {"TheNodeTrustsNobody", {"nodes_accept_approvals"}, [](Scene& s) { HelloOfTarget(s).clear_approver_keys(); }},
    {"TheNodeWantsTwo", {"nodes_accept_approvals"}, [](Scene& s) { HelloOfTarget(s).set_approvals(2); }},
    {"TheNodeIsNotSeen",
     {"node_policies_agree", "nodes_accept_approvals"},
     [](Scene& s) { s.now.nodes[s.plan.trials(0).shots(0).node()].hello.reset(); }},
};

INSTANTIATE_TEST_SUITE_P(Checks, GateApprovalDenies, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(GateApproval, OfTwoPersonsCountsNeitherOneTwiceNorWhoeverRunsIt) {
  Scene scene(2);
  EXPECT_THAT(scene.Denied(), ElementsAre("tier_is_approved"));
  scene.Give({scene.ana.Approve(Yes(scene.plan)), scene.ben.Approve(Yes(scene.plan))});
  EXPECT_THAT(scene.Denied(), IsEmpty());
  scene.now.approvals.runner = "ben";
  EXPECT_THAT(scene.Denied(), ElementsAre("tier_is_approved"));
}

TEST(GateApproval, IsWaivedOnlyIfPartitionAndNodeBothSaySo) {
  Scene scene(0, "a sandbox");
  scene.Give({});
  EXPECT_THAT(scene.Denied(), ElementsAre("nodes_accept_approvals"));
  for (auto& [name, node] : scene.now.nodes) node.hello->set_approvals_waived("a sandbox");
  EXPECT_THAT(scene.Denied(), IsEmpty());
  scene.plan.mutable_partition()->mutable_spec()->clear_waive_approvals();
  EXPECT_THAT(scene.Denied(), ElementsAre("tier_is_approved"));
}

TEST(GateApproval, SaysOneLineForEachThingThatIsMissing) {
  const Scene scene(2);
  gate::Approvals given = scene.now.approvals;
  given.envelopes.push_back("{");
  const gate::ApprovalAnswer answer = gate::ApprovalOf(scene.plan, DigestOf('c'), given);
  EXPECT_THAT(answer.problems, ElementsAre(HasSubstr("approval 2: not a DSSE envelope"),
                                           HasSubstr("fault 'lost', node.lost, is approved by 1 of 2 persons")));
}

TEST(PlanToApprove, NamesEachFaultOnceWithAllItsNodes) {
  const v1::Plan plan = *plan::MakePlan(RequestOf(LostDrill(12))).plan;
  const std::vector<v1::ApprovedFault> faults = FaultsToApprove(plan);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].id(), "lost");
  EXPECT_THAT(faults[0].nodes(), ::testing::IsSubsetOf({"n0", "n1", "n2"}));
  EXPECT_GT(faults[0].nodes_size(), 1);
  EXPECT_EQ(faults[0].max_hold_ns(), ToNanos(plan.trials(0).shots(0).max_hold()).count());
  EXPECT_THAT(FaultsToApprove(testing::PlanOf(testing::PauseDrill())), IsEmpty());
}

TEST(PlanToApprove, NamesWhatCannotBeTakenBackBesides) {
  EXPECT_EQ(IrreversibleFaults(testing::PlanOf(testing::KillDrill())).size(), 1u);
  EXPECT_THAT(IrreversibleFaults(testing::PlanOf(testing::PauseDrill())), IsEmpty());
}

TEST(PlanToApprove, IsTheSameWhetherOrNotTheNodesWereAsked) {
  plan::Request request = RequestOf(LostDrill());
  const std::string beforehand = plan::MakePlan(request).plan->SerializeAsString();
  request.abilities = AbleNodes();
  EXPECT_EQ(plan::MakePlan(request).plan->SerializeAsString(), beforehand);
}

}  // namespace
}  // namespace triodrill
