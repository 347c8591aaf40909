#include "reports/compare/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "reports/compare/power_text.h"
#include "reports/stats/distributions.h"
#include "reports/stats/power.h"
#include "triodrill/philox.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

constexpr double kOpen = std::numeric_limits<double>::infinity();

Sample Exactly(const std::vector<double>& values) {
  Sample sample;
  for (const double value : values) sample.values.push_back({value, value});
  return sample;
}

MetricSamples Times(Sample base, Sample next) {
  return {"recovery_time", "s", Scale::kTime, std::move(base), std::move(next)};
}

const std::vector<double> kTen = {9.6, 9.7, 9.8, 9.9, 10.0, 10.05, 10.1, 10.2, 10.3, 10.4};

std::vector<double> Times(const std::vector<double>& values, double factor) {
  std::vector<double> more;
  for (const double value : values) more.push_back(value * factor);
  return more;
}

MetricChange Tested(const MetricSamples& samples) { return TestMetric(samples, {}); }

TEST(Metric, ThatStayedTheSameIsNoWorse) {
  const MetricChange change = Tested(Times(Exactly(kTen), Exactly(kTen)));
  EXPECT_LE(change.p_no_worse, 0.001);
  EXPECT_GT(change.p_worse, 0.9);
  EXPECT_GT(change.p_better, 0.4);
  ASSERT_TRUE(change.ratio && change.ratio->interval);
  EXPECT_LE(change.ratio->interval->low, 1);
  EXPECT_GE(change.ratio->interval->high, 1);
}

TEST(Metric, ThatGrewByMoreThanIsAllowedIsWorse) {
  const MetricChange change = Tested(Times(Exactly(kTen), Exactly(Times(kTen, 1.25))));
  EXPECT_LE(change.p_worse, 0.001);
  EXPECT_GT(change.p_no_worse, 0.9);
}

TEST(Metric, ThatGrewByLessThanIsAllowedIsNotWorse) {
  const MetricChange change = Tested(Times(Exactly(kTen), Exactly(Times(kTen, 1.02))));
  EXPECT_GT(change.p_worse, 0.9);
  EXPECT_LE(change.p_no_worse, 0.01);
}

TEST(Metric, ThatFellIsBetter) { EXPECT_LE(Tested(Times(Exactly(kTen), Exactly(Times(kTen, 0.8)))).p_better, 0.001); }

TEST(Metric, OfWhichMoreIsBetterIsReadTheOtherWayRound) {
  const auto capacity = [](double base, double next) {
    return Tested(
        {"capacity", "", Scale::kShare, Exactly(std::vector<double>(6, base)), Exactly(std::vector<double>(6, next))});
  };
  EXPECT_LE(capacity(1, 0.75).p_worse, 0.01);
  EXPECT_LE(capacity(1, 1).p_no_worse, 0.01);
  EXPECT_LE(capacity(0.75, 1).p_better, 0.01);
  EXPECT_GT(capacity(0.75, 1).p_worse, 0.9);
}

TEST(Metric, CountedInWholeNumbersIsNoWorseWhereItStaysZero) {
  const auto lost = [](double base, double next) {
    return Tested({"collateral", "slots", Scale::kCount, Exactly(std::vector<double>(5, base)),
                   Exactly(std::vector<double>(5, next))});
  };
  EXPECT_LE(lost(0, 0).p_no_worse, 0.01);
  EXPECT_LE(lost(0, 1).p_worse, 0.01);
  EXPECT_FALSE(lost(0, 1).ratio) << "nothing is a multiple of zero";
}

TEST(Metric, OfCensoredTrialsCountsThemAsLate) {
  Sample base = Exactly(kTen);
  base.deadline = 60;
  Sample gone = base;
  for (Range& value : gone.values) value = {60, kOpen};
  const MetricChange change = Tested(Times(base, gone));
  EXPECT_TRUE(change.log_rank);
  EXPECT_EQ(change.censored_next, 10);
  EXPECT_LE(change.p_worse, 0.001);
  EXPECT_FALSE(change.median_next) << "the median is open";
  EXPECT_LE(Tested(Times(gone, base)).p_better, 0.001);
}

TEST(Metric, IsNotMadeWorseByADeadlineThatIsTheSameForBoth) {
  Sample gone = Exactly({});
  gone.deadline = 60;
  gone.values.assign(8, Range{60, kOpen});
  const MetricChange change = Tested(Times(gone, gone));
  EXPECT_GT(change.p_worse, 0.4);
  EXPECT_GT(change.p_no_worse, 0.4) << "and nothing shows that it is no worse";
}

TEST(Metric, IsNeverMadeWorseOrBetterByMeasurementError) {
  Sample base = Exactly(kTen);
  Sample next = Exactly(Times(kTen, 1.25));
  for (Range& value : base.values) value.high += 5;
  EXPECT_GT(Tested(Times(base, next)).p_worse, 0.9);
  for (Range& value : next.values) value.high += 5;
  EXPECT_GT(Tested(Times(Exactly(kTen), next)).p_no_worse, 0.9);
}

TEST(HowMany, AreTheFewestThatDecideWhereThereAreHardlyAny) {
  const MetricSamples samples = Times(Exactly({10}), Exactly({10}));
  MetricChange change = Tested(samples);
  EXPECT_FALSE(change.shift->interval);
  EXPECT_GT(change.p_no_worse, 0.05);
  SayHowMany(samples, {}, change);
  EXPECT_EQ(change.trials_needed, 3);
}

TEST(HowMany, GrowWithTheSpread) {
  const MetricSamples samples = Times(Exactly({5, 8, 10, 12, 15}), Exactly({6, 8, 10, 12, 14}));
  MetricChange change = Tested(samples);
  EXPECT_GT(change.p_no_worse, 0.05);
  SayHowMany(samples, {}, change);
  ASSERT_TRUE(change.trials_needed);
  EXPECT_GT(*change.trials_needed, 20);
}

TEST(HowMany, AreNoNumberWhereTheMeasurementIsTooCoarse) {
  Sample coarse = Exactly(kTen);
  for (Range& value : coarse.values) value.high += 5;
  const MetricSamples samples = Times(coarse, coarse);
  MetricChange change = Tested(samples);
  SayHowMany(samples, {}, change);
  EXPECT_EQ(change.trials_needed, std::nullopt);
  EXPECT_THAT(change.why, HasSubstr("measured no more finely"));
}

// ---- 2,000 pairs of runs whose shift is known

constexpr int kPairs = 2000;
constexpr double kSpread = 0.08;

// Log-normal times around 10 s, from a seed.
Sample Drawn(uint64_t seed, uint64_t call, int n, double factor, double deadline) {
  Sample sample;
  sample.deadline = deadline;
  for (int i = 0; i < n; ++i) {
    const philox::Block block = philox::Draw(seed, 0, call, static_cast<uint64_t>(i));
    const double uniform = (block.word[0] + 0.5) / 4294967296.0;
    const double time = factor * 10 * std::exp(kSpread * NormalQuantile(uniform));
    sample.values.push_back(time > deadline ? Range{deadline, kOpen} : Range{time, time});
  }
  return sample;
}

struct Rates {
  double worse = 0, no_worse = 0, better = 0;
};

Rates RatesOf(const char* what, int n, double factor, double deadline = kOpen) {
  const CompareOptions options;
  Rates rates;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    const MetricChange change =
        TestMetric(Times(Drawn(1, 2 * pair, n, 1, deadline), Drawn(1, 2 * pair + 1, n, factor, deadline)), options);
    rates.worse += change.p_worse <= options.alpha ? 1.0 / kPairs : 0;
    rates.no_worse += change.p_no_worse <= options.alpha ? 1.0 / kPairs : 0;
    rates.better += change.p_better <= options.alpha ? 1.0 / kPairs : 0;
  }
  std::printf("%-44s n %2d, factor %.2f: worse %.4f, no worse %.4f, better %.4f\n", what, n, factor, rates.worse,
              rates.no_worse, rates.better);
  return rates;
}

// Three standard errors of a rate of 5% over 2,000 pairs: the seeds are fixed, the bound is not a matter of luck.
constexpr double kLuck = 0.015;

TEST(TwoThousandPairs, RaiseNoMoreFalseAlarmsThanAlpha) {
  const Rates unchanged = RatesOf("unchanged", 8, 1.0);
  EXPECT_LE(unchanged.worse, 0.05);
  EXPECT_LE(unchanged.better, 0.05 + kLuck);
  const Rates at_limit = RatesOf("just what is allowed", 8, 1.1);
  EXPECT_LE(at_limit.worse, 0.05 + kLuck);
  EXPECT_LE(at_limit.no_worse, 0.05 + kLuck) << "what is at the limit is called no worse as rarely";
  EXPECT_GT(at_limit.worse, 0.02) << "an exact test uses up most of its level";
}

TEST(TwoThousandPairs, RaiseNoMoreFalseAlarmsThanAlphaWithADeadlineThatCensors) {
  const Rates at_limit = RatesOf("just what is allowed, a quarter censored", 8, 1.1, 11.2);
  EXPECT_LE(at_limit.worse, 0.05 + kLuck);
  EXPECT_LE(at_limit.no_worse, 0.05 + kLuck);
}

TEST(TwoThousandPairs, HaveThePowerThatWasPlanned) {
  const CompareOptions options;
  const std::optional<int> n = TrialsToCompare(ShareBeyondAt(1.1, kSpread), options.alpha, options.power);
  ASSERT_TRUE(n);
  std::printf("planned for %.0f%%: %d trials on each side\n", options.power * 100, *n);
  EXPECT_GE(RatesOf("unchanged", *n, 1.0).no_worse, options.power - 0.03);
  EXPECT_GE(RatesOf("twice what is allowed", *n, 1.21).worse, options.power - 0.03);
}

TEST(PowerText, SaysWhatIsPlannedAndWhatWouldBeEnough) {
  const std::string text = PowerText(3, 1, {});
  EXPECT_THAT(text, HasSubstr("Planned: 3 faulted trials and 1 sham trial"));
  EXPECT_THAT(text, HasSubstr("P(pass) >= 0.368"));
  EXPECT_THAT(text, HasSubstr("      59"));
  EXPECT_THAT(text, HasSubstr("Fewer than 3 on each side decide nothing"));
}

}  // namespace
}  // namespace triodrill
