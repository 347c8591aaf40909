// Two samples against each other, and shares. The figures to many places are those of R 4.2.2 (wilcox.test, pwilcox,
// binom.test, p.adjust).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "reports/stats/distributions.h"
#include "reports/stats/multiple.h"
#include "reports/stats/permutation.h"
#include "reports/stats/shift.h"

namespace triodrill {
namespace {

using ::testing::DoubleNear;

constexpr double kExact = 1e-9;
constexpr double kOpen = std::numeric_limits<double>::infinity();

std::vector<Range> Exactly(const std::vector<double>& values) {
  std::vector<Range> ranges;
  for (const double value : values) ranges.push_back({value, value});
  return ranges;
}

// Permeability of the human chorioamnion at term and at 12 to 26 weeks (Hollander and Wolfe, 1973, p. 69).
const std::vector<double> kAtTerm = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const std::vector<double> kEarly = {1.15, 0.88, 0.90, 0.74, 1.21};

std::vector<double> Joined(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(RankTest, IsThatOfTheReference) {
  const auto tails = PermutationTails(RankScores(Joined(kAtTerm, kEarly)), kAtTerm.size());
  ASSERT_TRUE(tails);
  EXPECT_TRUE(tails->exact);
  EXPECT_THAT(tails->upper, DoubleNear(0.127206127206127, kExact));
}

TEST(RankTest, IsTheSameSeenFromTheOtherGroup) {
  const auto tails = PermutationTails(RankScores(Joined(kEarly, kAtTerm)), kEarly.size());
  ASSERT_TRUE(tails);
  EXPECT_THAT(tails->lower, DoubleNear(0.127206127206127, kExact));
}

TEST(RankTest, IsExactWithTies) {
  const std::vector<double> second = {2, 3, 3, 4, 6, 7};
  const auto tails = PermutationTails(RankScores(Joined(second, {1, 2, 2, 3, 5})), second.size());
  ASSERT_TRUE(tails);
  EXPECT_THAT(tails->upper, DoubleNear(0.0865800865800866, kExact));
  EXPECT_THAT(tails->lower, DoubleNear(0.9393939393939394, kExact));
}

TEST(RankTest, OfEqualValuesSaysNothing) {
  const std::vector<double> same(12, 7.0);
  const auto tails = PermutationTails(RankScores(same), 6);
  ASSERT_TRUE(tails);
  EXPECT_EQ(tails->lower, 1);
  EXPECT_EQ(tails->upper, 1);
}

TEST(RankTest, OfAnEmptyGroupIsNothing) {
  EXPECT_EQ(PermutationTails(RankScores(kEarly), 0), std::nullopt);
  EXPECT_EQ(PermutationTails(RankScores(kEarly), kEarly.size()), std::nullopt);
}

TEST(RankTest, OfManyIsNearlyTheCount) {
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 0.0);
  std::swap(values[5], values[40]);
  std::swap(values[11], values[50]);
  std::vector<double> fine = values;  // the same order, off the grid of whole numbers
  for (double& value : fine) value += value * value * 1e-3;
  const auto exact = PermutationTails(RankScores(values), 30);
  ASSERT_TRUE(exact && exact->exact);
  std::vector<double> doubled = Joined(values, values);
  const auto large = PermutationTails(RankScores(Joined(doubled, doubled)), 120);
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->exact);
  EXPECT_THAT(large->lower + large->upper, DoubleNear(1, 0.01));
  const auto same_order = PermutationTails(RankScores(fine), 30);
  EXPECT_EQ(same_order->lower, exact->lower);
}

TEST(MannWhitney, HasTheCriticalValuesOfTheTables) {
  double below = 0;
  EXPECT_EQ(MannWhitneyCritical(10, 10, 0.025, below), 24);
  EXPECT_EQ(MannWhitneyCritical(10, 10, 0.05, below), 28);
  EXPECT_LT(below, 0.05);
  EXPECT_THAT(below + 0, DoubleNear(0.0446047760289246, 0.0063)) << "P(U < 28) is that of U <= 27";
  EXPECT_EQ(MannWhitneyCritical(5, 4, 0.0160, below), 2);
  EXPECT_THAT(below, DoubleNear(0.01587301587301587, kExact));
  EXPECT_EQ(MannWhitneyCritical(3, 3, 0.025, below), 0) << "one of twenty is the least that can come out";
}

TEST(HodgesLehmann, IsThatOfTheReference) {
  const auto shift = HodgesLehmann(Exactly(kEarly), Exactly(kAtTerm), 0.95);
  ASSERT_TRUE(shift);
  EXPECT_THAT(shift->estimate.low, DoubleNear(0.305, kExact));
  EXPECT_THAT(shift->estimate.high, DoubleNear(0.305, kExact));
  ASSERT_TRUE(shift->interval);
  EXPECT_THAT(shift->interval->low, DoubleNear(-0.15, kExact));
  EXPECT_THAT(shift->interval->high, DoubleNear(0.76, kExact));
  EXPECT_GE(shift->confidence, 0.95);
  const auto ninety = HodgesLehmann(Exactly(kEarly), Exactly(kAtTerm), 0.9);
  EXPECT_THAT(ninety->interval->low, DoubleNear(-0.08, kExact));
  EXPECT_THAT(ninety->interval->high, DoubleNear(0.72, kExact));
}

TEST(HodgesLehmann, GivesNoIntervalOfTooFew) {
  const auto shift = HodgesLehmann(Exactly({1, 2, 3}), Exactly({4, 5, 6}), 0.95);
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->estimate.low, 3);
  EXPECT_FALSE(shift->interval);
  EXPECT_EQ(HodgesLehmann({}, Exactly({1}), 0.95), std::nullopt);
}

TEST(HodgesLehmann, IsAsWideAsItsValuesAre) {
  std::vector<Range> first = Exactly({1, 2, 3, 4, 5});
  const std::vector<Range> second = Exactly({2, 3, 4, 5, 6});
  for (Range& range : first) range.high += 0.25;
  const auto shift = HodgesLehmann(first, second, 0.9);
  ASSERT_TRUE(shift && shift->interval);
  EXPECT_EQ(shift->estimate.low, 0.75);
  EXPECT_EQ(shift->estimate.high, 1.0);
}

TEST(HodgesLehmann, LeavesOpenWhatCensoringHides) {
  const std::vector<Range> first = Exactly({1, 2, 3, 4, 5});
  const std::vector<Range> one = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {60, kOpen}};
  const auto shift = HodgesLehmann(first, one, 0.9);
  ASSERT_TRUE(shift && shift->interval);
  EXPECT_TRUE(std::isfinite(shift->estimate.high)) << "the median pair is still known";
  EXPECT_FALSE(std::isfinite(shift->interval->high));
  const std::vector<Range> most = {{2, 2}, {60, kOpen}, {60, kOpen}, {60, kOpen}, {60, kOpen}};
  EXPECT_FALSE(std::isfinite(HodgesLehmann(first, most, 0.9)->estimate.high));
}

TEST(Ratio, IsTheFactorBetweenTwoSamples) {
  std::vector<double> tenth_more;
  for (const double value : kAtTerm) tenth_more.push_back(value * 1.1);
  const auto ratio = RatioOf(Exactly(kAtTerm), Exactly(tenth_more), 0.95);
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_LE(ratio->interval->low, 1.1);
  EXPECT_GE(ratio->interval->high, 1.1);
  EXPECT_EQ(RatioOf(Exactly({0, 1}), Exactly({1, 2}), 0.95), std::nullopt) << "nothing is a multiple of zero";
}

TEST(BinomialLimits, AreThoseOfTheReference) {
  EXPECT_THAT(BinomialLimits(8, 10, 0.95).low, DoubleNear(0.443904537692359, kExact));
  EXPECT_THAT(BinomialLimits(8, 10, 0.95).high, DoubleNear(0.974789273673167, kExact));
  EXPECT_EQ(BinomialLimits(0, 10, 0.95).low, 0);
  EXPECT_THAT(BinomialLimits(0, 10, 0.95).high, DoubleNear(0.308497107818761, kExact));
  EXPECT_THAT(BinomialLimits(59, 60, 0.95).low, DoubleNear(0.910600949942513, kExact));
  EXPECT_THAT(BinomialLimits(59, 60, 0.95).high, DoubleNear(0.999578125547658, kExact));
  EXPECT_THAT(BinomialLowerLimit(8, 10, 0.95), DoubleNear(0.493098698936798, kExact));
  EXPECT_EQ(BinomialLimits(0, 0, 0.95).high, 1) << "of no trial nothing is known";
}

TEST(Holm, IsThatOfTheReference) {
  const std::vector<double> five = Holm(std::vector<double>{0.01, 0.02, 0.03, 0.04, 0.005});
  const std::vector<double> expected = {0.040, 0.060, 0.060, 0.060, 0.025};
  for (size_t i = 0; i < five.size(); ++i) EXPECT_THAT(five[i], DoubleNear(expected[i], kExact));
  const std::vector<double> four = Holm(std::vector<double>{0.04, 0.01, 0.5, 0.03});
  const std::vector<double> expected_four = {0.09, 0.04, 0.50, 0.09};
  for (size_t i = 0; i < four.size(); ++i) EXPECT_THAT(four[i], DoubleNear(expected_four[i], kExact));
  EXPECT_TRUE(Holm({}).empty());
}

}  // namespace
}  // namespace triodrill
