#include "reports/ledger/trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/ledger/trend_text.h"
#include "tests/unit/ledger/some_rows.h"

namespace triodrill::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr Quarter kQ4{2026, 4};

Sample SampleFrom(std::initializer_list<double> seen, std::initializer_list<double> censored = {}) {
  Sample sample;
  for (const double one : seen) sample.values.push_back({one, one});
  for (const double one : censored) sample.values.push_back({one, INFINITY});
  return sample;
}

Trend TrendOfRuns(std::vector<RunRow> runs, bool across = false) {
  LedgerRows rows;
  rows.runs = std::move(runs);
  rows.conditions["same"] = {{"drill.name", "kill-one-rank"}, {"partition.environment.scale", "3 nodes"}};
  rows.conditions["other"] = {{"drill.name", "kill-one-rank"}, {"partition.environment.scale", "9 nodes"}};
  return TrendOf(rows, {.quarter = kQ4, .compare = CompareOptions(), .across = across});
}

const TrendMetric& MetricNamed(const TrendRow& row, const std::string& name) {
  for (const TrendMetric& metric : row.metrics) {
    if (metric.name == name) return metric;
  }
  static const TrendMetric kNone;
  ADD_FAILURE() << "no " << name;
  return kNone;
}

// Six values: the median lies between the least and the greatest with 1 - 2/2^6 = 96.9%.
TEST(Figure, OfSixTrialsHasAMedianWithItsInterval) {
  const Figure figure = FigureOf(SampleFrom({3, 1, 2, 6, 5, 4}));
  EXPECT_EQ(figure.n, 6);
  ASSERT_TRUE(figure.median && figure.interval);
  EXPECT_EQ(figure.median->low, 3);  // Kaplan-Meier: half are over at the third of six
  EXPECT_EQ(figure.interval->low, 1);
  EXPECT_EQ(figure.interval->high, 6);
  EXPECT_NEAR(figure.confidence, 0.96875, 1e-12);
}

// Ten: from the second to the ninth, 1 - 2 (1 + 10) / 2^10 = 97.9%.
TEST(Figure, OfTenTrialsLeavesTheEndsOut) {
  const Figure figure = FigureOf(SampleFrom({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}));
  ASSERT_TRUE(figure.interval.has_value());
  EXPECT_EQ(figure.interval->low, 2);
  EXPECT_EQ(figure.interval->high, 9);
  EXPECT_NEAR(figure.confidence, 1 - 22.0 / 1024, 1e-12);
}

TEST(Figure, OfFiveTrialsIsNone) {
  const Figure figure = FigureOf(SampleFrom({1, 2, 3, 4, 5}));
  EXPECT_FALSE(figure.enough());
  EXPECT_EQ(figure.needed, 6);
  EXPECT_FALSE(figure.median || figure.interval);
}

TEST(Figure, CensoringLeavesTheIntervalOpenAboveAndNeverShrinksIt) {
  const Figure figure = FigureOf(SampleFrom({1, 2, 3, 4, 5}, {1.5}));
  EXPECT_EQ(figure.censored, 1);
  ASSERT_TRUE(figure.median && figure.interval);
  EXPECT_EQ(figure.interval->low, 1);
  EXPECT_TRUE(std::isinf(figure.interval->high));
  EXPECT_FALSE(FigureOf(SampleFrom({1}, {9, 9, 9, 9, 9})).median.has_value());
}

TEST(Share, IsExact) {
  const Share share = ShareOf(3, 3);  // Clopper and Pearson: (0.025)^(1/3)
  EXPECT_NEAR(share.low, std::cbrt(0.025), 1e-9);
  EXPECT_EQ(share.high, 1);
  EXPECT_EQ(ShareOf(0, 0).low, 0);
}

TEST(Level, TheMedianIsTheUpperOfTwoMiddles) {
  RunRow run = RunAt(1, "2026-10-01T00:00:00Z", Seconds({1, 1, 1, 1, 1, 1, 1}));
  const char* const levels[] = {"gpu", "gpu", "gpu", "node", "job", "node", ""};
  for (size_t i = 0; i < 7; ++i) run.trials[i].level = levels[i];
  const LevelFigure figure = LevelFigureOf({&run});
  EXPECT_EQ(figure.n, 6);
  EXPECT_EQ(figure.unknown, 1);
  EXPECT_EQ(figure.median, "node");
  EXPECT_EQ(figure.worst, "job");
}

TEST(Trend, SlowerDetectionIsARegressionWithItsFigures) {
  const Trend trend =
      TrendOfRuns({RunAt(1, "2026-09-30T23:59:59Z", Seconds({1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7})),
                   RunAt(2, "2026-10-01T00:00:00Z", Seconds({5.0, 5.1, 5.2, 5.3, 5.4, 5.5, 5.6, 5.7}))});
  ASSERT_THAT(trend.rows, SizeIs(1));
  const TrendMetric& metric = MetricNamed(trend.rows[0], "detection_latency");
  EXPECT_EQ(metric.before.n, 8);
  EXPECT_EQ(metric.now.n, 8);
  EXPECT_DOUBLE_EQ(metric.before.median->low, 1.3);
  EXPECT_DOUBLE_EQ(metric.now.median->low, 5.3);
  ASSERT_TRUE(metric.change.has_value());
  EXPECT_EQ(metric.change->change, Change::kRegressed);
  // Of all 12,870 ways to deal 16 trials to two groups of 8 one is as extreme; three figures are compared.
  EXPECT_NEAR(metric.change->adjusted_worse, 3.0 / 12870, 1e-9);
  EXPECT_THAT(TrendText(trend, false), StartsWith("2026Q4 against 2026Q3: 1 REGRESSED, 2 no worse of 3 figures"));
}

TEST(Trend, RunsOfOneReleaseAreOneFigureAndThoseOfAnotherAreNot) {
  const Trend trend = TrendOfRuns({RunAt(1, "2026-07-01T00:00:00Z", Seconds({1, 2, 3}), "1.0"),
                                   RunAt(2, "2026-08-01T00:00:00Z", Seconds({1, 2, 3}), "1.1"),
                                   RunAt(3, "2026-10-01T00:00:00Z", Seconds({1, 2, 3}), "1.1"),
                                   RunAt(4, "2026-11-01T00:00:00Z", Seconds({4, 5, 6}), "1.1"),
                                   RunAt(5, "2026-12-01T00:00:00Z", Seconds({1, 2, 3}), "2.0")});
  ASSERT_THAT(trend.rows, SizeIs(2));
  EXPECT_EQ(trend.rows[0].now.release, "1.1");
  EXPECT_EQ(trend.rows[0].before->release, "1.1");
  EXPECT_EQ(trend.rows[0].now.passed.n, 2);
  EXPECT_EQ(MetricNamed(trend.rows[0], "detection_latency").now.n, 6);
  EXPECT_EQ(trend.rows[1].now.release, "2.0");
  EXPECT_EQ(trend.rows[1].before->release, "1.1") << "the one that was run last";
  EXPECT_THAT(TrendText(trend, false), HasSubstr("release 2.0 against release 1.1"));
}

TEST(Trend, TooFewTrialsGiveNoFigureAndNoAnswer) {
  const Trend trend = TrendOfRuns(
      {RunAt(1, "2026-08-01T00:00:00Z", Seconds({1, 2})), RunAt(2, "2026-10-01T00:00:00Z", Seconds({1, 2}))});
  const TrendMetric& metric = MetricNamed(trend.rows.at(0), "detection_latency");
  EXPECT_FALSE(metric.now.median || metric.before.median);
  EXPECT_EQ(metric.change->change, Change::kTooFew);
  EXPECT_THAT(TrendText(trend, false), HasSubstr("not enough trials (2 trials; 6 make a median)"));
  const Json json = Json::parse(TrendJson(trend), nullptr, false);
  EXPECT_TRUE(json.at("rows").at(0).at("metrics").at(0).at("now").at("median").is_null());
}

TEST(Trend, WhatDependsOnOtherConditionsIsNotComparedUnlessAsked) {
  RunRow before = RunAt(1, "2026-08-01T00:00:00Z", Seconds({1, 2, 3, 4, 5, 6, 7, 8}));
  before.conditions = "other";
  const RunRow now = RunAt(2, "2026-10-01T00:00:00Z", Seconds({11, 12, 13, 14, 15, 16, 17, 18}));
  const Trend apart = TrendOfRuns({before, now});
  EXPECT_THAT(apart.rows.at(0).differences, ElementsAre("partition.environment.scale"));
  EXPECT_FALSE(MetricNamed(apart.rows[0], "detection_latency").change.has_value());
  EXPECT_THAT(TrendText(apart, false), HasSubstr("NOTHING TO COMPARE WITH"));
  EXPECT_THAT(TrendText(apart, false), HasSubstr("not the same: partition.environment.scale; --across"));
  const Trend across = TrendOfRuns({before, now}, true);
  EXPECT_EQ(MetricNamed(across.rows.at(0), "detection_latency").change->change, Change::kRegressed);
}

TEST(Trend, TheSameConditionsAreRatherComparedThanTheSameRelease) {
  RunRow elsewhere = RunAt(1, "2026-09-01T00:00:00Z", Seconds({1, 2, 3}), "2.0");
  elsewhere.conditions = "other";
  const Trend trend = TrendOfRuns({RunAt(2, "2026-08-01T00:00:00Z", Seconds({1, 2, 3}), "1.0"), elsewhere,
                                   RunAt(3, "2026-10-01T00:00:00Z", Seconds({1, 2, 3}), "2.0")});
  EXPECT_EQ(trend.rows.at(0).before->release, "1.0");
  EXPECT_THAT(trend.rows[0].differences, SizeIs(0));
}

TEST(Trend, ShamMaskedAndInvalidTrialsMakeNoFigure) {
  RunRow run = RunAt(1, "2026-10-01T00:00:00Z", Seconds({1, 2, 3, 4}));
  run.trials[0].valid = false;
  run.trials[1].masked = true;
  run.trials[2].sham = true;
  run.trials[2].false_alarms = 2;
  EXPECT_THAT(SampleOf({&run}, Metric::kDetectionLatency).values, SizeIs(1));
  const Sample alarms = SampleOf({&run}, Metric::kFalseAlarms);
  ASSERT_THAT(alarms.values, SizeIs(1));
  EXPECT_EQ(alarms.values[0].low, 2);
}

TEST(Trend, SaysWhatIsNotDrilledAnyMoreAndWhatHappenedForReal) {
  LedgerRows rows;
  RunRow gone = RunAt(1, "2026-08-01T00:00:00Z", Seconds({1}));
  gone.drill = "link-lost";
  rows.runs = {gone, RunAt(2, "2026-10-01T00:00:00Z", Seconds({1}))};
  rows.incidents.push_back({.id = 1, .started = "2026-11-02T00:00:00Z", .severity = "P1", .summary = "a switch died"});
  const Trend trend = TrendOf(rows, {.quarter = kQ4});
  EXPECT_THAT(trend.not_drilled, ElementsAre("link-lost, torchrun"));
  const std::string text = TrendText(trend, false);
  EXPECT_THAT(text, HasSubstr("not drilled in 2026Q4: link-lost, torchrun"));
  EXPECT_THAT(text, HasSubstr("P1  a switch died"));
  EXPECT_THAT(text, HasSubstr("1 incident, before 0"));
}

TEST(Trend, OfAnEmptyQuarterSaysSo) {
  EXPECT_THAT(TrendText(TrendOfRuns({}), false), StartsWith("2026Q4 against 2026Q3: NOTHING WAS DRILLED"));
}

TEST(Trend, HostileNamesStayTextInEveryForm) {
  RunRow run = RunAt(1, "2026-10-01T00:00:00Z", Seconds({1}), "<script>alert(1)</script>");
  run.drill = "a|b\x1b[31m\n# x";
  run.simulated = "accelerator";
  const Trend trend = TrendOfRuns({run});
  EXPECT_THAT(TrendHtml(trend), Not(HasSubstr("<script>")));
  EXPECT_THAT(TrendMarkdown(trend), HasSubstr("a\\|b\\\\x1b"));
  EXPECT_THAT(TrendMarkdown(trend), Not(HasSubstr("\n# x")));
  EXPECT_THAT(TrendText(trend, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(TrendText(trend, false), HasSubstr("(simulated: accelerator)"));
  EXPECT_FALSE(Json::parse(TrendJson(trend), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace triodrill::ledger
