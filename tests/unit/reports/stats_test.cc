#include "reports/stats/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace triodrill {
namespace {

using ::testing::DoubleNear;

// Remission times in weeks of the 6-mercaptopurine arm of Freireich et al. (1963), the classic worked example.
const std::vector<Lifetime> kFreireich = {{6, false},  {6, false}, {6, false},  {6, true},   {7, false},  {9, true},
                                          {10, false}, {10, true}, {11, true},  {13, false}, {16, false}, {17, true},
                                          {19, true},  {20, true}, {22, false}, {23, false}, {25, true},  {32, true},
                                          {32, true},  {34, true}, {35, true}};

TEST(KaplanMeier, GivesThePublishedCurve) {
  const std::vector<SurvivalStep> curve = KaplanMeier(kFreireich);
  const std::vector<std::tuple<double, int, int, double>> published = {
      {6, 21, 3, 0.857},  {7, 17, 1, 0.807}, {10, 15, 1, 0.753}, {13, 12, 1, 0.690},
      {16, 11, 1, 0.627}, {22, 7, 1, 0.538}, {23, 6, 1, 0.448}};
  ASSERT_EQ(curve.size(), published.size());
  for (size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].time, std::get<0>(published[i]));
    EXPECT_EQ(curve[i].at_risk, std::get<1>(published[i]));
    EXPECT_EQ(curve[i].events, std::get<2>(published[i]));
    EXPECT_THAT(curve[i].survival, DoubleNear(std::get<3>(published[i]), 0.0005));
  }
}

TEST(KaplanMeier, GivesThePublishedMedian) { EXPECT_EQ(KaplanMeierQuantile(kFreireich, 0.5), 23); }

TEST(KaplanMeier, LeavesAQuantileOpenThatCensoringHides) {
  EXPECT_EQ(KaplanMeierQuantile(kFreireich, 0.9), std::nullopt);
  EXPECT_EQ(KaplanMeierQuantile(std::vector<Lifetime>{{60, true}, {60, true}}, 0.5), std::nullopt);
}

TEST(KaplanMeier, IsThePlainQuantileWithoutCensoring) {
  const std::vector<Lifetime> lifetimes = {{5, false}, {1, false}, {4, false}, {2, false}, {3, false}};
  EXPECT_EQ(KaplanMeierQuantile(lifetimes, 0.5), 3);
  EXPECT_EQ(KaplanMeierQuantile(lifetimes, 0.9), 5);
  EXPECT_EQ(KaplanMeierQuantile(lifetimes, 0.2), 1);
}

TEST(KaplanMeier, OfNothingIsNothing) {
  EXPECT_TRUE(KaplanMeier({}).empty());
  EXPECT_EQ(KaplanMeierQuantile({}, 0.5), std::nullopt);
}

// Clopper and Pearson's lower limit at n of n is the n-th root of 0.05: the "rule of three" in exact form.
TEST(Assurance, IsTheExactLowerLimit) {
  EXPECT_THAT(Assurance(1), DoubleNear(0.05, 1e-12));
  EXPECT_THAT(Assurance(10), DoubleNear(0.7411, 5e-5));
  EXPECT_THAT(Assurance(59), DoubleNear(0.9505, 5e-5));  // the well-known 59 for 95/95
  EXPECT_LT(Assurance(58), 0.95);
  EXPECT_EQ(Assurance(0), 0);
}

// Published tables of the distribution-free interval of the median at 95% (Conover, Practical Nonparametric
// Statistics).
TEST(QuantileRanks, GiveThePublishedIntervalsOfTheMedian) {
  EXPECT_EQ(QuantileRanks(5, 0.5), std::nullopt);  // 1 - 2/32 is only 93.75%
  const auto six = QuantileRanks(6, 0.5);
  ASSERT_TRUE(six);
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
  EXPECT_THAT(six->confidence, DoubleNear(0.96875, 1e-9));
  const auto ten = QuantileRanks(10, 0.5);
  ASSERT_TRUE(ten);
  EXPECT_EQ(ten->low, 2);
  EXPECT_EQ(ten->high, 9);
  EXPECT_THAT(ten->confidence, DoubleNear(0.9785, 5e-5));
  const auto twenty_five = QuantileRanks(25, 0.5);
  ASSERT_TRUE(twenty_five);
  EXPECT_EQ(twenty_five->low, 8);
  EXPECT_EQ(twenty_five->high, 18);
  EXPECT_THAT(twenty_five->confidence, DoubleNear(0.9567, 5e-5));
}

TEST(QuantileRanks, RefuseWhatIsNoQuantile) {
  EXPECT_EQ(QuantileRanks(0, 0.5), std::nullopt);
  EXPECT_EQ(QuantileRanks(10, 0), std::nullopt);
  EXPECT_EQ(QuantileRanks(10, 1), std::nullopt);
}

}  // namespace
}  // namespace triodrill
