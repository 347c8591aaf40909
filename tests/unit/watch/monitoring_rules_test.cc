// The pure parts of watching Prometheus and Alertmanager: bounds, what is new, what is refused, what is fingerprinted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/watch/bounded_json.h"
#include "coordinator/watch/fingerprint.h"
#include "coordinator/watch/firing.h"
#include "coordinator/watch/label_matcher.h"
#include "coordinator/watch/outage.h"
#include "coordinator/watch/series.h"
#include "coordinator/watch/server_clock.h"
#include "tests/unit/watch/rig.h"

namespace triodrill::watch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TimePoint At(int64_t ms) { return FromNanos(ms * 1'000'000); }

TEST(FiringInstant, LiesBetweenTheEvaluationBeforeTheFirstAndTheReceipt) {
  EXPECT_EQ(FiringInstant(At(5000), Ms(4400, 4410), std::nullopt, milliseconds(300)), Ms(4100, 5000));
}

TEST(FiringInstant, WithoutAMeasuredClockRestsOnTheLastListWithoutIt) {
  EXPECT_EQ(FiringInstant(At(5000), std::nullopt, At(4200), milliseconds(300)), Ms(3900, 5000));
  EXPECT_EQ(FiringInstant(At(5000), std::nullopt, std::nullopt, milliseconds(300)), Ms(0, 5000));
}

TEST(FiringInstant, DoesNotBelieveAStartAfterTheReceipt) {
  EXPECT_EQ(FiringInstant(At(5000), Ms(6000, 6100), At(4200), milliseconds(300)), Ms(3900, 5000));
}

TEST(ServerClock, IsMeasuredHoweverFarOffItIs) {
  ServerClock clock;
  EXPECT_FALSE(clock.Map(hours(1), At(0)));
  // Ours 1000..1010, theirs an hour ahead.
  clock.Take(Ms(1000, 1010), hours(1) + milliseconds(1005), hours(1) + milliseconds(1006));
  const auto mapped = clock.Map(hours(1) + milliseconds(900), At(1010));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(*mapped, Ms(894, 905));
}

TEST(ServerClock, NarrowsWithEachExchangeAndWidensWithAge) {
  ServerClock clock;
  clock.Take(Ms(1000, 1100), milliseconds(1050), milliseconds(1051));
  clock.Take(Ms(1200, 1204), milliseconds(1202), milliseconds(1203));
  const auto near = clock.Map(milliseconds(1202), At(1204));
  ASSERT_TRUE(near);
  EXPECT_LE(near->Width(), milliseconds(5));
  EXPECT_LE(near->earliest, At(1202));
  EXPECT_GE(near->latest, At(1202));
  const auto aged = clock.Map(milliseconds(1202), At(1204 + 20'000));
  EXPECT_EQ(aged->Width(), near->Width() + milliseconds(20));
}

TEST(ServerClock, ForgetsWhatWasBeforeAStep) {
  ServerClock clock;
  clock.Take(Ms(1000, 1010), milliseconds(1005), milliseconds(1006));
  clock.Take(Ms(2000, 2010), hours(1) + milliseconds(2005), hours(1) + milliseconds(2006));
  const auto mapped = clock.Map(hours(1) + milliseconds(2000), At(2010));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(*mapped, Ms(1994, 2005));
}

Sample Xid(const std::string& gpu, const std::string& value, bool there) {
  return {.labels = {{"gpu", gpu}}, .value = value, .there = there};
}

TEST(SeriesWatch, TellsOfASeriesOnceBetweenTheLastAnswerWithoutItAndThisOne) {
  SeriesWatch watch(milliseconds(200));
  EXPECT_THAT(watch.Take(Ms(1000, 1010), {}), IsEmpty());
  const auto appeared = watch.Take(Ms(1500, 1510), {Xid("1", "79", true)});
  ASSERT_THAT(appeared, SizeIs(1));
  EXPECT_EQ(appeared[0].at, Ms(800, 1510));
  EXPECT_THAT(watch.Take(Ms(2000, 2010), {Xid("1", "79", true)}), IsEmpty());
  EXPECT_THAT(watch.Take(Ms(2500, 2510), {}), IsEmpty());
  EXPECT_THAT(watch.Take(Ms(3000, 3010), {Xid("1", "79", true)}), SizeIs(1));
}

TEST(SeriesWatch, TakesZeroForAbsentAndTheFirstAnswerForOld) {
  SeriesWatch watch(milliseconds(200));
  EXPECT_THAT(watch.Take(Ms(1000, 1010), {Xid("0", "79", true), Xid("1", "0", false)}), IsEmpty());
  const auto appeared = watch.Take(Ms(1500, 1510), {Xid("0", "79", true), Xid("1", "79", true)});
  ASSERT_THAT(appeared, SizeIs(1));
  EXPECT_EQ(appeared[0].sample.labels.at("gpu"), "1");
}

std::string Vector(const std::string& value) {
  return R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"gpu":"1"},"value":[1.5,)" + value +
         "]}]}}";
}

TEST(ParseSamples, KnowsWhatIsThere) {
  for (const auto& [value, there] :
       {std::pair("\"79\"", true), {"\"0\"", false}, {"\"-0\"", false}, {"\"NaN\"", false}, {"\"+Inf\"", true}}) {
    const auto samples = ParseSamples(Vector(value));
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_THAT(*samples, SizeIs(1));
    EXPECT_EQ((*samples)[0].there, there) << value;
  }
}

TEST(ParseSamples, RefusesWhatIsNoWholeAnswer) {
  const std::string whole = Vector("\"79\"");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ParseSamples(whole.substr(0, size)).ok()) << size;
  for (const char* const body :
       {R"({"status":"error","errorType":"timeout","error":"query timed out"})",
        R"({"status":"success","warnings":["a store did not answer"],"data":{"resultType":"vector","result":[]}})",
        R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
        R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":"79"}]}})",
        R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"gpu":1},"value":[1,"79"]}]}})", "[]",
        "null"}) {
    EXPECT_FALSE(ParseSamples(body).ok()) << body;
  }
}

TEST(ParseBounded, KnowsDepthBeforeItBuildsAnything) {
  EXPECT_TRUE(ParseBounded(std::string(kDeepestJson, '[') + std::string(kDeepestJson, ']')).ok());
  EXPECT_FALSE(ParseBounded(std::string(kDeepestJson + 1, '[') + std::string(kDeepestJson + 1, ']')).ok());
  EXPECT_FALSE(ParseBounded(std::string(1'000'000, '[')).ok());
  EXPECT_TRUE(ParseBounded(R"({"text": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"{{{{"})").ok());
  EXPECT_FALSE(ParseBounded("[1, 2, 3]", 8).ok());
}

TEST(MetFirings, KnowsAFiringByItsFingerprintAndItsStart) {
  MetFirings met;
  const Firing first{.fingerprint = "a", .starts_at = "", .starts_wall = milliseconds(1), .labels = {}};
  Firing again = first;
  EXPECT_TRUE(met.Meet(first));
  EXPECT_FALSE(met.Meet(again));
  again.starts_wall = milliseconds(2);
  EXPECT_TRUE(met.Meet(again));
  again.fingerprint = "b";
  EXPECT_TRUE(met.Meet(again));
}

TEST(Outage, IsToldOnceItIsLongerThanThePatienceAndOnceItIsOver) {
  Outage outage("prometheus", milliseconds(3000), At(1000));
  const Status down = absl::UnavailableError("no answer");
  EXPECT_FALSE(outage.Take(down, At(4000)));
  EXPECT_EQ(outage.problem(), "");
  const auto told = outage.Take(down, At(4001));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->gap.problem(), "no answer");
  EXPECT_FALSE(told->gap.over());
  EXPECT_EQ(told->at, Ms(1000, 4001));
  EXPECT_FALSE(outage.Take(down, At(5000)));
  EXPECT_EQ(outage.problem(), "no answer");
  const auto over = outage.Take(Ok(), At(6000));
  ASSERT_TRUE(over);
  EXPECT_TRUE(over->gap.over());
  EXPECT_EQ(over->at, Ms(1000, 6000));
  EXPECT_EQ(outage.problem(), "");
  EXPECT_FALSE(outage.Take(down, At(8000)));
}

std::map<std::string, std::string> Digests(const Result<Parts>& parts) {
  EXPECT_TRUE(parts.ok()) << parts.status();
  std::map<std::string, std::string> digests;
  if (parts.ok()) {
    for (const v1::MonitoringPart& part : *parts) digests[part.name()] = part.sha256();
  }
  return digests;
}

std::string Rules(const std::string& query, const std::string& state, double took) {
  return R"({"status":"success","data":{"groups":[{"name":"drill","file":"/etc/r.yml","interval":1,"limit":0,)"
         R"("evaluationTime":)" +
         std::to_string(took) +
         R"(,"lastEvaluation":"2026-11-29T10:00:00Z","rules":[{"type":"alerting","name":"GpuXid","query":")" + query +
         R"(","duration":0,"labels":{"severity":"critical"},"annotations":{},"alerts":[],"health":"ok","state":")" +
         state + "\"}]}]}}";
}

TEST(Fingerprint, OfRulesLeavesOutWhatChangesByItself) {
  const auto before = Digests(PartsOfRules(Rules("x > 0", "inactive", 0.001)));
  EXPECT_THAT(before, SizeIs(2));
  EXPECT_EQ(before, Digests(PartsOfRules(Rules("x > 0", "firing", 0.002))));
  const auto after = Digests(PartsOfRules(Rules("x > 1", "inactive", 0.001)));
  EXPECT_NE(before.at("rule /etc/r.yml/drill/GpuXid (1)"), after.at("rule /etc/r.yml/drill/GpuXid (1)"));
  EXPECT_EQ(before.at("group /etc/r.yml/drill"), after.at("group /etc/r.yml/drill"));
}

std::string Silence(const std::string& state, const std::string& ends) {
  return R"([{"id":"7f","status":{"state":")" + state + R"("},"updatedAt":"2026-11-29T10:00:00Z","comment":"c",)" +
         R"("createdBy":"ops","startsAt":"2026-11-29T10:00:00Z","endsAt":")" + ends +
         R"(","matchers":[{"isEqual":true,"isRegex":false,"name":"alertname","value":"GpuXid"}]}])";
}

TEST(Fingerprint, OfSilencesSeesOneThatWasEndedAndNotOneThatRanOut) {
  const auto active = PartsOfSilences(Silence("active", "2026-11-29T12:00:00Z"));
  const auto ran_out = PartsOfSilences(Silence("expired", "2026-11-29T12:00:00Z"));
  EXPECT_EQ(Digests(active), Digests(ran_out));
  EXPECT_FALSE((*active)[0].may_vanish());
  EXPECT_TRUE((*ran_out)[0].may_vanish());
  EXPECT_NE(Digests(active), Digests(PartsOfSilences(Silence("expired", "2026-11-29T10:30:00Z"))));
}

TEST(Fingerprint, OfHalfAnAnswerIsNone) {
  const std::string rules = Rules("x > 0", "inactive", 0.001);
  for (size_t size = 0; size < rules.size(); size += 7) EXPECT_FALSE(PartsOfRules(rules.substr(0, size)).ok());
  EXPECT_FALSE(PartsOfSilences("{}").ok());
  EXPECT_FALSE(PartsOfAlertmanagerStatus(R"({"uptime":"x"})").ok());
  EXPECT_FALSE(PartsOfPrometheusConfig(R"({"status":"success","data":{}})").ok());
}

class LabelMatching : public testing::Test {
 protected:
  LabelMatching() {
    v1::Node& node = *partition_.add_nodes();
    node.set_name("n1");
    node.set_address("10.77.0.11");
    node.set_slots(2);
    v1::Signal& signal = *pipeline_.add_signals();
    signal.set_id("xid");
    signal.set_means(v1::DETECTED);
    signal.mutable_alertmanager_webhook()->set_alert("GpuXid");
    signal.mutable_of()->set_node("${label.Hostname}");
    signal.mutable_of()->set_local_rank("${label.gpu}");
  }
  std::vector<v1::Fact> Match(Labels labels) const {
    const Firing firing{.fingerprint = "f", .starts_at = "2026-11-29T10:00:00Z", .starts_wall = {}, .labels = labels};
    const auto matcher = LabelMatcher::Create(pipeline_, partition_);
    EXPECT_TRUE(matcher.ok()) << matcher.status();
    if (!matcher.ok()) return {};
    return matcher->Match(LabelMatcher::Channel::kWebhook, firing, "here");
  }
  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
};

TEST_F(LabelMatching, NamesTheSlotOfItsLabels) {
  const auto facts = Match({{"alertname", "GpuXid"}, {"Hostname", "n1"}, {"gpu", "1"}});
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].signal().named(), "n1/1");
  EXPECT_EQ(facts[0].signal().claimed_time(), "2026-11-29T10:00:00Z");
  EXPECT_EQ(facts[0].signal().source(), "here: alert GpuXid");
  EXPECT_THAT(facts[0].signal().raw(), HasSubstr(R"("Hostname":"n1")"));
}

TEST_F(LabelMatching, NamesNobodyWhomThePartitionDoesNotHaveAndSaysSo) {
  for (const Labels& labels : {Labels{{"Hostname", "n9"}, {"gpu", "1"}}, Labels{{"Hostname", "n1"}, {"gpu", "2"}},
                               Labels{{"Hostname", "n1"}, {"gpu", "-1"}}, Labels{{"Hostname", "n1"}}}) {
    Labels all = labels;
    all["alertname"] = "GpuXid";
    const auto facts = Match(all);
    ASSERT_THAT(facts, SizeIs(2));
    EXPECT_EQ(facts[0].signal().named(), "");
    EXPECT_TRUE(facts[1].has_remark());
  }
}

TEST_F(LabelMatching, MatchesTheWholeNameOfAnAlert) {
  EXPECT_THAT(Match({{"alertname", "GpuXidTest"}, {"Hostname", "n1"}, {"gpu", "1"}}), IsEmpty());
}

TEST_F(LabelMatching, FindsANodeByTheAddressThatWasScraped) {
  pipeline_.mutable_signals(0)->mutable_of()->set_node("${address.instance}");
  pipeline_.mutable_signals(0)->mutable_of()->clear_local_rank();
  const auto facts = Match({{"alertname", "GpuXid"}, {"instance", "10.77.0.11:9400"}});
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].signal().named(), "n1");
}

TEST_F(LabelMatching, RefusesASubjectThatNoLabelFillsIn) {
  pipeline_.mutable_signals(0)->mutable_of()->set_node("${group.node}");
  EXPECT_FALSE(LabelMatcher::Create(pipeline_, partition_).ok());
}

}  // namespace
}  // namespace triodrill::watch
