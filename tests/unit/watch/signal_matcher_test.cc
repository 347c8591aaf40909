#include "coordinator/watch/signal_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace triodrill::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Matching : public testing::Test {
 protected:
  Matching() {
    for (int i = 0; i < 3; ++i) {
      v1::Node& node = *partition_.add_nodes();
      node.set_name(absl::StrCat("n", i));
      node.set_address(absl::StrCat("10.77.0.1", i));
      node.set_slots(2);
    }
  }

  v1::Signal& Add(const std::string& id, v1::Meaning means, const std::string& match,
                  const std::string& path = "${run_dir}/${node}.err") {
    v1::Signal& signal = *pipeline_.add_signals();
    signal.set_id(id);
    signal.set_means(means);
    signal.mutable_log()->set_path(path);
    signal.mutable_log()->set_match(match);
    return signal;
  }
  Result<SignalMatcher> Create() const { return SignalMatcher::Create(pipeline_, partition_, "/run/1", "/data"); }
  std::vector<v1::Fact> Match(const std::string& text, const std::string& path = "/run/1/n2.err") const {
    const Result<SignalMatcher> matcher = Create();
    EXPECT_TRUE(matcher.ok()) << matcher.status();
    if (!matcher.ok()) return {};
    return matcher->Match({.path = path, .number = 118, .offset = 0, .text = text, .at = {}});
  }
  std::string Problem() const { return std::string(Create().status().message()); }

  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
};

TEST_F(Matching, FollowsOneFileForEachNodeAndEachFileOnce) {
  Add("a", v1::NOTE, "a");
  Add("b", v1::NOTE, "b");
  Add("c", v1::NOTE, "c", "${data_dir}/all.log");
  EXPECT_THAT(Create()->Paths(), ElementsAre("/data/all.log", "/run/1/n0.err", "/run/1/n1.err", "/run/1/n2.err"));
}

TEST_F(Matching, TellsAStateWithItsStepItsShardAndItsHash) {
  Add("state", v1::STATE, R"(^state step=(?P<step>\d+) shard=(?P<shard>\d+) hash=(?P<hash>[0-9a-f]+)$)");
  const std::vector<v1::Fact> facts = Match("state step=40 shard=1 hash=9f86d0");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].signal().means(), v1::STATE);
  EXPECT_EQ(facts[0].signal().step(), 40);
  EXPECT_EQ(facts[0].signal().shard(), "1");
  EXPECT_EQ(facts[0].signal().hash(), "9f86d0");
}

TEST_F(Matching, RefusesAStateWithoutAHash) {
  Add("state", v1::STATE, R"(^state step=(?P<step>\d+)$)");
  EXPECT_THAT(Problem(), HasSubstr("no group \"hash\""));
}

TEST_F(Matching, MakesNothingOfALineThatMatchesNothing) {
  Add("a", v1::DETECTED, "FAILED");
  EXPECT_THAT(Match("all is well"), IsEmpty());
}

TEST_F(Matching, MakesNothingOfAFileThatNoSignalComesFrom) {
  Add("a", v1::DETECTED, "FAILED");
  EXPECT_THAT(Match("FAILED", "/run/1/n7.err"), IsEmpty());
}

TEST_F(Matching, ReadsProgress) {
  Add("step", v1::PROGRESS, R"(^step (?P<step>\d+) rank (?P<rank>\d+) local (?P<local_rank>\d+)$)");
  const std::vector<v1::Fact> facts = Match("step 120 rank 5 local 1");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].progress().slot(), "n2/1");
  EXPECT_EQ(facts[0].progress().node(), "n2");
  EXPECT_EQ(facts[0].progress().rank(), 5);
  EXPECT_EQ(facts[0].progress().step(), 120);
}

TEST_F(Matching, TakesProgressForTheFirstSlotOfTheNodeWhoseLogItIs) {
  Add("step", v1::PROGRESS, R"(step=(?P<step>\d+))");
  const std::vector<v1::Fact> facts = Match("step=3");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].progress().slot(), "n2/0");
  EXPECT_EQ(facts[0].progress().rank(), -1);
}

TEST_F(Matching, TakesProgressForTheNodeThatTheLineNames) {
  Add("step", v1::PROGRESS, R"((?P<node>\w+) step (?P<step>\d+))", "${run_dir}/all.log");
  const std::vector<v1::Fact> facts = Match("n1 step 3", "/run/1/all.log");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].progress().slot(), "n1/0");
}

TEST_F(Matching, RemarksOnAStepTooLargeForANumber) {
  Add("step", v1::PROGRESS, R"(step=(?P<step>\d+))");
  const std::vector<v1::Fact> facts = Match("step=99999999999999999999999");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].remark().text(), HasSubstr("n2.err:118"));
}

TEST_F(Matching, RemarksOnProgressOfASlotThatIsNot) {
  Add("step", v1::PROGRESS, R"(step=(?P<step>\d+) local=(?P<local_rank>\d+))");
  const std::vector<v1::Fact> facts = Match("step=1 local=2");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].remark().text(), HasSubstr("node n2 has no slot \"2\""));
}

TEST_F(Matching, SaysWhereASignalWasRead) {
  Add("failed", v1::DETECTED, "FAILED");
  const std::vector<v1::Fact> facts = Match("Worker group FAILED.");
  ASSERT_THAT(facts, SizeIs(1));
  const v1::SignalSeen& seen = facts[0].signal();
  EXPECT_EQ(seen.signal(), "failed");
  EXPECT_EQ(seen.means(), v1::DETECTED);
  EXPECT_EQ(seen.named(), "");
  EXPECT_EQ(seen.step(), -1);
  EXPECT_EQ(seen.source(), "log /run/1/n2.err:118");
  EXPECT_EQ(seen.raw(), "Worker group FAILED.");
}

TEST_F(Matching, ReadsTheStepThatWasRestored) {
  Add("restored", v1::RESTORED, R"(loaded checkpoint at step (?P<step>\d+))");
  EXPECT_EQ(Match("loaded checkpoint at step 110")[0].signal().step(), 110);
}

TEST_F(Matching, NamesTheNodeWhoseLogItIs) {
  Add("a", v1::DETECTED, "x").mutable_of()->set_node("${node}");
  EXPECT_EQ(Match("x")[0].signal().named(), "n2");
}

TEST_F(Matching, NamesALiteralNode) {
  Add("a", v1::DETECTED, "x").mutable_of()->set_node("n1");
  EXPECT_EQ(Match("x")[0].signal().named(), "n1");
}

TEST_F(Matching, NamesASlotByAGroup) {
  v1::Signal& signal = Add("a", v1::DETECTED, R"(local_rank: (?P<local_rank>\d+))");
  signal.mutable_of()->set_node("${node}");
  signal.mutable_of()->set_local_rank("${group.local_rank}");
  EXPECT_EQ(Match("local_rank: 1")[0].signal().named(), "n2/1");
}

TEST_F(Matching, NamesANodeByAGroup) {
  Add("a", v1::ISOLATED, R"(node (?P<who>\w+) drained)").mutable_of()->set_node("${group.who}");
  EXPECT_EQ(Match("node n0 drained")[0].signal().named(), "n0");
}

TEST_F(Matching, NamesANodeByItsAddress) {
  Add("a", v1::DETECTED, R"(peer \[(?P<peer>[\d.]+)\])").mutable_of()->set_node("${address.peer}");
  EXPECT_EQ(Match("lost peer [10.77.0.11]:4321")[0].signal().named(), "n1");
}

TEST_F(Matching, NamesNobodyByAnUnknownAddressAndSaysSo) {
  Add("a", v1::DETECTED, R"(peer \[(?P<peer>[\d.]+)\])").mutable_of()->set_node("${address.peer}");
  const std::vector<v1::Fact> facts = Match("lost peer [192.0.2.1]:4321");
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].signal().named(), "");
  EXPECT_THAT(facts[1].remark().text(), HasSubstr("192.0.2.1"));
}

TEST_F(Matching, NamesNobodyByAnUnknownNodeAndSaysSo) {
  Add("a", v1::DETECTED, R"(node (?P<who>\w+))").mutable_of()->set_node("${group.who}");
  const std::vector<v1::Fact> facts = Match("node elsewhere");
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].signal().named(), "");
  EXPECT_THAT(facts[1].remark().text(), HasSubstr("elsewhere"));
}

TEST_F(Matching, TellsEverySignalOfALineInTheProfilesOrder) {
  Add("second", v1::SYMPTOM, "b");
  Add("first", v1::DETECTED, "a");
  Add("other", v1::NOTE, "z");
  const std::vector<v1::Fact> facts = Match("ab");
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].signal().signal(), "second");
  EXPECT_EQ(facts[1].signal().signal(), "first");
}

TEST_F(Matching, KeepsTheFirstFourKibibytesOfALine) {
  Add("a", v1::NOTE, "^x");
  const std::string raw = Match(std::string(100'000, 'x'))[0].signal().raw();
  EXPECT_LT(raw.size(), 4200u);
  EXPECT_TRUE(raw.ends_with(kCutMarker));
}

TEST_F(Matching, IsLinearInALineMadeToBacktrack) {
  Add("a", v1::NOTE, "(x+x+)+y");
  EXPECT_THAT(Match(std::string(64 * 1024, 'x')), IsEmpty());
}

TEST_F(Matching, FindsOneOfManySignals) {
  for (int i = 0; i < 300; ++i) Add(absl::StrCat("s", i), v1::NOTE, absl::StrCat("^event-", i, ": .*$"));
  const std::vector<v1::Fact> facts = Match("event-217: hello");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].signal().signal(), "s217");
}

TEST_F(Matching, FindsSignalsThatAreTooMuchForOneAutomaton) {
  for (int i = 0; i < 12; ++i) Add(absl::StrCat("s", i), v1::NOTE, absl::StrCat("[a-q][^u-z]{", 150 + i, "}x"));
  std::string text;
  for (int i = 0; i < 6000; ++i) text += static_cast<char>('a' + (i * i + i / 7) % 17);
  EXPECT_THAT(Match(text + "x"), SizeIs(12));
}

TEST_F(Matching, RefusesAnExpressionThatIsNone) {
  Add("bad", v1::NOTE, "(");
  EXPECT_THAT(Problem(), HasSubstr("\"bad\""));
}

TEST_F(Matching, RefusesProgressWithoutAStep) {
  Add("step", v1::PROGRESS, "step");
  EXPECT_THAT(Problem(), HasSubstr("no group \"step\""));
}

TEST_F(Matching, RefusesProgressOfNobody) {
  Add("step", v1::PROGRESS, R"((?P<step>\d+))", "${run_dir}/all.log");
  EXPECT_THAT(Problem(), HasSubstr("of which node"));
}

TEST_F(Matching, RefusesAGroupThatTheExpressionDoesNotHave) {
  Add("a", v1::NOTE, "x").mutable_of()->set_node("${group.who}");
  EXPECT_THAT(Problem(), HasSubstr("no group \"who\""));
}

TEST_F(Matching, RefusesASubjectItDoesNotKnow) {
  Add("a", v1::NOTE, "x").mutable_of()->set_node("${host}");
  EXPECT_THAT(Problem(), HasSubstr("${host}"));
}

TEST_F(Matching, RefusesAPathItDoesNotKnow) {
  Add("a", v1::NOTE, "x", "${home}/x.log");
  EXPECT_THAT(Problem(), HasSubstr("${home}"));
}

TEST_F(Matching, TakesADrillWithoutLogs) {
  pipeline_.add_signals()->set_id("not-from-a-log");
  EXPECT_THAT(Create()->Paths(), IsEmpty());
}

}  // namespace
}  // namespace triodrill::watch
