// What counts as an approval, and what does not: whatever is hostile, late, of something else or of somebody else.
#include "triodrill/signed/approval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/signed/approver.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using testing::ApprovalOf;
using testing::DigestOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNow_s;
using testing::LostNode;
using testing::Person;

std::string Message(const Status& status) { return std::string(status.message()); }

struct Scene {
  Person ana{"ana"};
  Person ben{"ben"};
  Person stranger{"ana"};
  ApprovalRules rules{.approvers = {ana.approver(), ben.approver()}, .wanted = 1, .waived = "", .runner = ""};

  CountedApprovals Count(const std::vector<std::string>& envelopes, std::optional<int64_t> now_s = kNow_s) const {
    return CountApprovals(envelopes, rules, DigestOf('a'), now_s);
  }
  std::string Problem(const std::string& envelope, std::optional<int64_t> now_s = kNow_s) const {
    const CountedApprovals count = Count({envelope}, now_s);
    EXPECT_THAT(count.counted, IsEmpty());
    return count.problems.empty() ? "" : count.problems.front();
  }
  std::string Good() const { return ana.Approve(ApprovalOf(DigestOf('a'))); }
};

TEST(Approval, CountsIfAnApproverSignedItForThisPlan) {
  const Scene scene;
  const CountedApprovals count = scene.Count({scene.Good()});
  EXPECT_THAT(count.problems, IsEmpty());
  ASSERT_EQ(count.counted.size(), 1u);
  EXPECT_EQ(count.counted[0].approver(), "ana");
  EXPECT_EQ(Unapproved(LostNode(), count, scene.rules), "");
}

TEST(Approval, IsOneFormOfBytesAndReadsBack) {
  v1::Approval approval = ApprovalOf(DigestOf('a'));
  approval.set_approver("ana");
  approval.set_key_id(DigestOf('k'));
  const std::string statement = ApprovalStatement(approval);
  const Result<v1::Approval> read = ParseApprovalStatement(statement);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ApprovalStatement(*read), statement);
  EXPECT_THAT(statement, ::testing::StartsWith(R"({"_type":"https://in-toto.io/Statement/v1","subject":[{"name":)"));
}

TEST(Approval, CutAnywhereIsNone) {
  const Scene scene;
  const std::string good = scene.Good();
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_THAT(scene.Count({good.substr(0, size)}).counted, IsEmpty()) << size;
  }
}

TEST(Approval, WithAnyByteChangedIsNone) {
  const Scene scene;
  const std::string good = scene.Good();
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_THAT(scene.Count({changed}).counted, IsEmpty()) << at << ": " << changed;
  }
}

struct Hostile {
  std::string name;
  std::function<std::string(const Scene&)> envelope;
  std::string says;
};

class HostileApproval : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileApproval, IsRefused) {
  const Scene scene;
  EXPECT_THAT(scene.Problem(GetParam().envelope(scene)), HasSubstr(GetParam().says));
}

std::string Statement(const Scene& scene, const std::function<void(v1::Approval&)>& change) {
  v1::Approval approval = ApprovalOf(DigestOf('a'));
  approval.set_approver("ana");
  approval.set_key_id(scene.ana.key().id());
  change(approval);
  return ApprovalStatement(approval);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

const Hostile kHostile[] = {
    {"Empty", [](const Scene&) { return std::string(); }, "not a DSSE envelope"},
    {"Oversized", [](const Scene& s) { return s.ana.Sign(std::string(kMostApprovalBytes, 'x')); }, "64 KiB"},
    {"DeeplyNested", [](const Scene&) { return std::string(60000, '['); }, "not a DSSE envelope"},
    {"AThousandSignatures",
     [](const Scene& s) {
       std::string many;
       for (int i = 0; i < 1000; ++i) many += R"({"keyid":"","sig":""},)";
       return Replaced(s.Good(), "\"signatures\":[", "\"signatures\":[" + many);
     },
     "one signature"},
    {"APayloadTwice", [](const Scene& s) { return Replaced(s.Good(), "{", R"({"payload":"eA==",)"); }, "one form"},
    {"OfAnotherType", [](const Scene& s) { return s.ana.Sign("{}", "application/json"); }, "in-toto"},
    {"OfABundle",
     [](const Scene& s) {
       return s.ana.Sign(
           Replaced(Statement(s, [](v1::Approval&) {}), "urn:triodrill:approval:v1", "urn:triodrill:run:v1"));
     },
     "states something else"},
    {"AKeyTwiceInThePredicate",
     [](const Scene& s) {
       return s.ana.Sign(Replaced(Statement(s, [](v1::Approval&) {}), "\"drill\":", "\"drill\":\"x\",\"drill\":"));
     },
     "not an approval"},
    {"AnUnknownKey",
     [](const Scene& s) {
       return s.ana.Sign(Replaced(Statement(s, [](v1::Approval&) {}), "\"drill\":", "\"also\":1,\"drill\":"));
     },
     "not an approval"},
    {"AHugeNumber",
     [](const Scene& s) {
       return s.ana.Sign(Replaced(Statement(s, [](v1::Approval&) {}), std::to_string(kNow_s + 3600), "1e400"));
     },
     "not an approval"},
    {"AnEndOfYears",
     [](const Scene& s) { return s.ana.Sign(Statement(s, [](v1::Approval& a) { a.set_expires_s(INT64_MAX); })); },
     "within 7 days"},
    {"ABeginBeforeTime",
     [](const Scene& s) { return s.ana.Sign(Statement(s, [](v1::Approval& a) { a.set_issued_s(INT64_MIN); })); },
     "within 7 days"},
    {"TwoPlans",
     [](const Scene& s) {
       return s.ana.Sign(Replaced(Statement(s, [](v1::Approval&) {}), DigestOf('a'), DigestOf('b')));
     },
     "one form"},
    {"NoFault", [](const Scene& s) { return s.ana.Sign(Statement(s, [](v1::Approval& a) { a.clear_faults(); })); },
     "0 faults"},
    {"AThousandFaults",
     [](const Scene& s) {
       return s.ana.Sign(Statement(s, [](v1::Approval& a) {
         for (int i = 0; i < 300; ++i) *a.add_faults() = LostNode();
       }));
     },
     "faults"},
    {"ALineInAName",
     [](const Scene& s) { return s.ana.Sign(Statement(s, [](v1::Approval& a) { a.set_user("x\nPASS"); })); },
     "no name"},
    {"AStrangersKey", [](const Scene& s) { return s.stranger.Approve(ApprovalOf(DigestOf('a'))); },
     "no approver's here"},
    {"AnothersKeyUnderHisName",
     [](const Scene& s) {
       v1::Approval approval = ApprovalOf(DigestOf('a'));
       approval.set_approver("ana");
       approval.set_key_id(s.ben.key().id());
       return s.ben.Sign(ApprovalStatement(approval));
     },
     "it says it is ana's"},
    {"AStrangerWhoNamesAnApproversKey",
     [](const Scene& s) {
       return Replaced(s.stranger.Approve(ApprovalOf(DigestOf('a'))), s.stranger.key().id(), s.ana.key().id());
     },
     "the signature is not one of ana's key"},
    {"AnotherPlan", [](const Scene& s) { return s.ana.Approve(ApprovalOf(DigestOf('b'))); }, "another plan"},
};

INSTANTIATE_TEST_SUITE_P(Each, HostileApproval, ::testing::ValuesIn(kHostile),
                         [](const auto& tested) { return tested.param.name; });

TEST(Approval, ExpiresByTheClockOfWhoeverAsks) {
  const Scene scene;
  const int64_t end = ApprovalOf(DigestOf('a')).expires_s();
  EXPECT_EQ(scene.Count({scene.Good()}, end + kApprovalTolerance_s - 1).counted.size(), 1u);
  EXPECT_THAT(scene.Problem(scene.Good(), end + kApprovalTolerance_s), HasSubstr("expired at 2026-"));
  const int64_t begin = ApprovalOf(DigestOf('a')).issued_s();
  EXPECT_EQ(scene.Count({scene.Good()}, begin - kApprovalTolerance_s).counted.size(), 1u);
  EXPECT_THAT(scene.Problem(scene.Good(), begin - kApprovalTolerance_s - 1), HasSubstr("by this clock it is"));
  EXPECT_THAT(scene.Problem(scene.Good(), std::nullopt), HasSubstr("clock cannot be read"));
}

TEST(Approval, NoMoreThanAFewAreLookedAt) {
  const Scene scene;
  const CountedApprovals count = scene.Count(std::vector<std::string>(1000, scene.Good()));
  EXPECT_THAT(count.counted, IsEmpty());
  EXPECT_THAT(count.problems, ElementsAre(HasSubstr("1000 approvals")));
}

TEST(Approval, OnePersonCountsOnce) {
  Scene scene;
  scene.rules.wanted = 2;
  const CountedApprovals count = scene.Count({scene.Good(), scene.Good()});
  EXPECT_EQ(count.counted.size(), 1u);
  EXPECT_THAT(count.problems, ElementsAre(HasSubstr("one person counts once")));
  EXPECT_THAT(Unapproved(LostNode(), count, scene.rules), HasSubstr("1 of 2 persons"));
  const CountedApprovals two = scene.Count({scene.Good(), scene.ben.Approve(ApprovalOf(DigestOf('a')))});
  EXPECT_EQ(Unapproved(LostNode(), two, scene.rules), "");
}

TEST(Approval, WhoeverRunsItIsNotOneOfTwo) {
  Scene scene;
  scene.rules.runner = "ana";
  EXPECT_EQ(scene.Count({scene.Good()}).counted.size(), 1u) << "where one is wanted it may be the same person";
  scene.rules.wanted = 2;
  EXPECT_THAT(scene.Problem(scene.Good()), HasSubstr("whoever runs the drill"));
}

struct Widened {
  std::string name;
  std::function<void(v1::ApprovedFault&)> change;
};

class WidenedFault : public ::testing::TestWithParam<Widened> {};

TEST_P(WidenedFault, IsNotWhatWasApproved) {
  const Scene scene;
  v1::Approval approval = ApprovalOf(DigestOf('a'));
  approval.mutable_faults(0)->add_nodes("n1");
  const CountedApprovals count = scene.Count({scene.ana.Approve(approval)});
  v1::ApprovedFault fault = LostNode();
  fault.add_nodes("n1");
  ASSERT_EQ(Unapproved(fault, count, scene.rules), "");
  GetParam().change(fault);
  EXPECT_THAT(Unapproved(fault, count, scene.rules), HasSubstr("0 of 1 person"));
}

const Widened kWidened[] = {
    {"AnotherName", [](v1::ApprovedFault& fault) { fault.set_id("lost2"); }},
    {"AnotherKind", [](v1::ApprovedFault& fault) { fault.set_kind("node.flapping"); }},
    {"OtherParameters", [](v1::ApprovedFault& fault) { fault.set_parameters(DigestOf('0')); }},
    {"NoParameters", [](v1::ApprovedFault& fault) { fault.clear_parameters(); }},
    {"AnotherNode", [](v1::ApprovedFault& fault) { fault.set_nodes(0, "n2"); }},
    {"OneNodeMore", [](v1::ApprovedFault& fault) { fault.add_nodes("n2"); }},
    {"AnyNode", [](v1::ApprovedFault& fault) { fault.clear_nodes(); }},
    {"ALongerHold", [](v1::ApprovedFault& fault) { fault.set_max_hold_ns(fault.max_hold_ns() + 1); }},
    {"AHoldWithoutEnd", [](v1::ApprovedFault& fault) { fault.set_max_hold_ns(0); }},
};

INSTANTIATE_TEST_SUITE_P(Each, WidenedFault, ::testing::ValuesIn(kWidened),
                         [](const auto& tested) { return tested.param.name; });

TEST(Approval, OfNobodyIsNone) {
  ApprovalRules nobody;
  EXPECT_THAT(Unapproved(LostNode(), {}, nobody), HasSubstr("nobody is named"));
  nobody.wanted = 0;
  EXPECT_THAT(Unapproved(LostNode(), {}, nobody), HasSubstr("nobody is named"));
  nobody.waived = "a sandbox";
  EXPECT_EQ(Unapproved(LostNode(), {}, nobody), "");
}

v1::PartitionSpec With(const std::vector<v1::Approver>& approvers, int wanted) {
  v1::PartitionSpec spec;
  for (const v1::Approver& approver : approvers) *spec.add_approvers() = approver;
  spec.set_approvals(wanted);
  return spec;
}

TEST(Approvers, AreReadFromAPartition) {
  const Scene scene;
  const Result<ApprovalRules> rules = ApprovalRulesOf(With({scene.ana.entry(), scene.ben.entry()}, 2));
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->wanted, 2);
  EXPECT_EQ(rules->approvers[1].key.id(), scene.ben.key().id());
  EXPECT_EQ(ApprovalRulesOf(With({scene.ana.entry()}, 0))->wanted, 1) << "one, if it is left out";
}

TEST(Approvers, ThatContradictThemselvesAreRefused) {
  const Scene scene;
  v1::Approver twice = scene.ana.entry();
  twice.set_name("ann");
  EXPECT_THAT(Message(ApprovalRulesOf(With({scene.ana.entry(), twice}, 1)).status()), HasSubstr("share"));
  EXPECT_THAT(Message(ApprovalRulesOf(With({scene.ana.entry(), scene.stranger.entry()}, 1)).status()),
              HasSubstr("share"));
  EXPECT_THAT(Message(ApprovalRulesOf(With({scene.ana.entry()}, 2)).status()), HasSubstr("2 approvals of 1"));
  v1::Approver none = scene.ana.entry();
  none.set_key("MCow");
  EXPECT_THAT(Message(ApprovalRulesOf(With({none}, 1)).status()), HasSubstr("the key of approver `ana`"));
  v1::PartitionSpec both = With({scene.ana.entry()}, 0);
  both.set_waive_approvals("because");
  EXPECT_THAT(Message(ApprovalRulesOf(both).status()), HasSubstr("waived and asked for"));
  const ApprovalRules none_may = RulesOrNone(ApprovalRulesOf(both));
  EXPECT_TRUE(none_may.approvers.empty());
  EXPECT_EQ(none_may.waived, "");
}

TEST(Tier, OfAnUnknownFaultIsNeverAuto) {
  EXPECT_TRUE(NeedsApproval("node.lost"));
  EXPECT_TRUE(NeedsApproval("node.explode"));
  EXPECT_TRUE(NeedsApproval(""));
  EXPECT_FALSE(NeedsApproval("process.pause"));
}

TEST(PublicKeys, AreReadAsOneLineAndAsPem) {
  const Person ana("ana");
  const std::string line = ana.key().line();
  EXPECT_EQ(PublicKey::Parse(line)->id(), ana.key().id());
  EXPECT_EQ(PublicKey::Parse("-----BEGIN PUBLIC KEY-----\n" + line + "\n-----END PUBLIC KEY-----\n")->id(),
            ana.key().id());
  EXPECT_FALSE(PublicKey::Parse("").ok());
  EXPECT_FALSE(PublicKey::Parse(line.substr(4)).ok());
  EXPECT_FALSE(PublicKey::Parse(std::string(1 << 20, 'A')).ok());
}

}  // namespace
}  // namespace triodrill
