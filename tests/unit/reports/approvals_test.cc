// Who approved what, in a report and in what `verify` proves: the approvals of the timeline, as of the run's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reports/evidence/verify_approvals.h"
#include "reports/render/origin.h"
#include "tests/unit/signed/approver.h"

namespace triodrill {
namespace {

using testing::DigestOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNow_s;
using testing::Person;

// A run of one node.lost on n1 that ana and ben approved, fired an hour later than now at the latest.
struct Told {
  Person ana{"ana"};
  Person ben{"ben"};
  v1::Plan plan;
  Timeline timeline;

  Told() {
    v1::PartitionSpec& partition = *plan.mutable_partition()->mutable_spec();
    *partition.add_approvers() = ana.entry();
    *partition.add_approvers() = ben.entry();
    partition.set_approvals(2);
    v1::Shot& shot = *plan.add_trials()->add_shots();
    shot.set_fault_id("lost");
    shot.set_kind("node.lost");
    *shot.mutable_with() = testing::LostParameters();
    shot.set_node("n1");
    shot.set_rank(-1);
    shot.mutable_max_hold()->set_seconds(30);
    v1::RunStarted& started = *timeline.facts.emplace_back().mutable_run_started();
    started.set_plan_digest(DigestOf('a'));
    started.set_wall_ns(kNow_s * 1'000'000'000);
    started.set_operator_name("olga");
    started.set_login("olga");
    started.set_job("https://ci/7");
  }
  v1::Approval Yes(const Person& person) const {
    v1::Approval approval = testing::ApprovalOf(DigestOf('a'));
    approval.clear_faults();
    for (const v1::ApprovedFault& fault : FaultsToApprove(plan)) *approval.add_faults() = fault;
    approval.set_approver(person.name());
    approval.set_key_id(person.key().id());
    return approval;
  }
  v1::ApprovalGiven& Give(const Person& person) {
    v1::ApprovalGiven& given = *timeline.facts.emplace_back().mutable_approval();
    *given.mutable_approval() = Yes(person);
    given.set_envelope(person.Approve(Yes(person)));
    return given;
  }
  void Permit(std::chrono::seconds after) {
    v1::Fact& fact = timeline.facts.emplace_back();
    fact.mutable_gate()->set_permitted(true);
    fact.mutable_at()->set_earliest_ns(Nanos(after).count());
  }
  ProofStep Step() const { return ApprovalStep(plan, timeline).value_or(ProofStep{"none", Proof::kOpen, "no step"}); }
};

TEST(VerifiedApprovals, AreProvedByTheKeysOfThePlan) {
  Told told;
  told.Give(told.ana);
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kProved) << told.Step().text;
  EXPECT_THAT(told.Step().text, HasSubstr("by ana (key " + told.ana.key().id() + "), ben (key "));
}

TEST(VerifiedApprovals, ThatAreMissingAreRefuted) {
  Told told;
  told.Give(told.ana);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
  EXPECT_THAT(told.Step().text, HasSubstr("approved by 1 of 2 persons"));
}

TEST(VerifiedApprovals, ThatExpiredBeforeTheLastTrialAreRefuted) {
  Told told;
  told.Give(told.ana);
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  told.Permit(std::chrono::seconds(3600 + kApprovalTolerance_s));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
  EXPECT_THAT(told.Step().text, HasSubstr("expired"));
}

TEST(VerifiedApprovals, AtTheEndOfAllTimeHaveExpired) {
  Told told;
  told.timeline.facts[0].mutable_run_started()->set_wall_ns(std::numeric_limits<int64_t>::max());
  told.Give(told.ana);
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
  EXPECT_THAT(told.Step().text, HasSubstr("expired"));
}

TEST(VerifiedApprovals, OfWhoeverRanItAreRefuted) {
  Told told;
  told.timeline.facts[0].mutable_run_started()->set_operator_name("ben");
  told.Give(told.ana);
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
}

TEST(VerifiedApprovals, ThatTheTimelineTellsOtherwiseAreRefuted) {
  Told told;
  told.Give(told.ana).mutable_approval()->set_host("elsewhere");
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
  EXPECT_THAT(told.Step().text, HasSubstr("the timeline says otherwise"));
}

TEST(VerifiedApprovals, OfAnotherPlanAreRefuted) {
  Told told;
  told.timeline.facts[0].mutable_run_started()->set_plan_digest(DigestOf('b'));
  told.Give(told.ana);
  told.Give(told.ben);
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kRefuted);
}

TEST(VerifiedApprovals, AreNotMissedWhereNothingWasFiredOrNothingNeedsThem) {
  Told told;
  EXPECT_THAT(told.Step().text, HasSubstr("let nothing be fired"));
  told.plan.mutable_trials(0)->mutable_shots(0)->set_kind("process.pause");
  EXPECT_FALSE(ApprovalStep(told.plan, told.timeline).has_value());
}

TEST(VerifiedApprovals, ThatWereWaivedSayByWhomAndWhy) {
  Told told;
  told.plan.mutable_partition()->mutable_spec()->clear_approvers();
  told.plan.mutable_partition()->mutable_spec()->clear_approvals();
  told.plan.mutable_partition()->mutable_spec()->set_waive_approvals("a sandbox");
  v1::AgentFact& agent = *told.timeline.facts.emplace_back().mutable_agent();
  agent.set_node("n1");
  agent.set_approvals_waived("a sandbox");
  told.Permit(std::chrono::seconds(60));
  EXPECT_EQ(told.Step().proof, Proof::kProved);
  EXPECT_THAT(told.Step().text, HasSubstr("waived by the partition: a sandbox; n1: a sandbox"));
  const std::vector<Row> rows = ApprovalRows(MeasureOrigin(told.plan, told.timeline));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].text, "by the partition, n1: a sandbox");
}

TEST(OriginRows, SayWhoRanItWhoApprovedItAndFromWhere) {
  Told told;
  told.Give(told.ana);
  std::vector<std::string> labels;
  for (const Row& row : OriginRows(MeasureOrigin(told.plan, told.timeline))) labels.push_back(row.label);
  EXPECT_THAT(labels, ElementsAre("logged in as", "CI job", "of tier confirm", "approved by"));
  EXPECT_THAT(OriginRows(MeasureOrigin(told.plan, told.timeline)).back().text,
              HasSubstr("as ana on ops-1, from 2026-"));
}

TEST(OriginRows, AreNoneWhereNothingIsKnown) {
  EXPECT_THAT(OriginRows(MeasureOrigin(v1::Plan(), Timeline())), IsEmpty());
}

}  // namespace
}  // namespace triodrill
