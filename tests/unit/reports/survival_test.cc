// Survival curves against a published example and against another implementation: the figures to many places are those
// of R 4.2.2 with survival 3.5-3 (survfit with conf.type="log-log", quantile.survfit, survdiff), as Debian 12 ships
// them.
#include "reports/stats/survival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/stats/distributions.h"
#include "reports/stats/permutation.h"

namespace triodrill {
namespace {

using ::testing::DoubleNear;

constexpr double kExact = 1e-9;

std::vector<Lifetime> Lifetimes(std::vector<double> seen, const std::vector<double>& censored) {
  std::vector<Lifetime> all;
  for (const double time : seen) all.push_back({time, false});
  for (const double time : censored) all.push_back({time, true});
  return all;
}

// Freireich et al. (1963): weeks of remission with 6-mercaptopurine and with a placebo.
std::vector<Lifetime> Treated() {
  return Lifetimes({6, 6, 6, 7, 10, 13, 16, 22, 23}, {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35});
}
std::vector<Lifetime> Placebo() {
  return Lifetimes({1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23}, {});
}

TEST(SurvivalBand, IsThatOfTheReference) {
  const std::vector<BandStep> expected = {
      {6, 0.857142857142857, 0.0763603548321213, 0.619717955265984, 0.951551747646997},
      {7, 0.806722689075630, 0.0869352851800572, 0.563146564622233, 0.922809019202880},
      {10, 0.752941176470588, 0.0963496529943205, 0.503199510799957, 0.889361835169265},
      {13, 0.690196078431372, 0.1068147077750098, 0.431610222486184, 0.849065963349451},
      {16, 0.627450980392157, 0.1140538652567525, 0.367510855987502, 0.804912189471841},
      {22, 0.537815126050420, 0.1282337516930340, 0.267778936767135, 0.746790717635394},
      {23, 0.448179271708683, 0.1345914567557604, 0.188052005959232, 0.680142628495241}};
  const std::vector<BandStep> band = SurvivalBand(Treated());
  ASSERT_EQ(band.size(), expected.size());
  for (size_t i = 0; i < band.size(); ++i) {
    EXPECT_EQ(band[i].time, expected[i].time);
    EXPECT_THAT(band[i].survival, DoubleNear(expected[i].survival, kExact));
    EXPECT_THAT(band[i].standard_error, DoubleNear(expected[i].standard_error, kExact));
    EXPECT_THAT(band[i].low, DoubleNear(expected[i].low, kExact));
    EXPECT_THAT(band[i].high, DoubleNear(expected[i].high, kExact));
  }
}

TEST(SurvivalBand, WithoutCensoringEndsAtZeroAndClaimsNoMoreThanTheStepBefore) {
  const std::vector<BandStep> band = SurvivalBand(Placebo());
  ASSERT_EQ(band.size(), 12u);
  EXPECT_THAT(band[10].low, DoubleNear(0.00332446304253118, kExact));
  EXPECT_THAT(band[10].high, DoubleNear(0.197044905698946, kExact));
  EXPECT_EQ(band[11].survival, 0);
  EXPECT_EQ(band[11].low, 0);
  EXPECT_EQ(band[11].high, band[10].high);
}

TEST(QuantileBand, IsThatOfTheReference) {
  const auto median = QuantileBand(Treated(), 0.5);
  ASSERT_TRUE(median);
  EXPECT_EQ(median->low, 13);
  EXPECT_EQ(median->high, std::nullopt) << "the band never comes down to one half";
  const auto placebo = QuantileBand(Placebo(), 0.5);
  ASSERT_TRUE(placebo);
  EXPECT_EQ(placebo->low, 4);
  EXPECT_EQ(placebo->high, 11);
  const auto quarter = QuantileBand(Placebo(), 0.25);
  ASSERT_TRUE(quarter);
  EXPECT_EQ(quarter->low, 1);
  EXPECT_EQ(quarter->high, 5);
}

TEST(QuantileBand, IsNotMadeOfTooFewOrOfWhatIsOpen) {
  EXPECT_EQ(QuantileBand(Lifetimes({1, 2, 3, 4}, {}), 0.5), std::nullopt);
  EXPECT_EQ(QuantileBand(Lifetimes({1, 2}, {60, 60, 60, 60}), 0.5), std::nullopt);
  EXPECT_EQ(QuantileBand({}, 0.5), std::nullopt);
}

// Kleinbaum and Klein (Survival Analysis) print 19.25, 10.75 and 16.79 for these groups.
TEST(LogRank, IsThatOfTheReference) {
  const auto result = LogRank(Treated(), Placebo());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->observed_first, 9);
  EXPECT_EQ(result->observed_second, 21);
  EXPECT_THAT(result->expected_first, DoubleNear(19.2505009480311, kExact));
  EXPECT_THAT(result->expected_second, DoubleNear(10.7494990519689, kExact));
  EXPECT_THAT(result->variance, DoubleNear(6.2569605736755, kExact));
  EXPECT_THAT(result->chi_square, DoubleNear(16.79294098921654, kExact));
  EXPECT_THAT(result->p, DoubleNear(4.168809109334531e-05, kExact * 1e-5));
}

TEST(LogRank, IsTheSameWithTheGroupsTheOtherWayRound) {
  EXPECT_THAT(LogRank(Placebo(), Treated())->chi_square, DoubleNear(16.79294098921654, kExact));
}

TEST(LogRank, OfGroupsThatCannotBeComparedIsNothing) {
  EXPECT_EQ(LogRank({}, Placebo()), std::nullopt);
  EXPECT_EQ(LogRank(Placebo(), {}), std::nullopt);
  EXPECT_EQ(LogRank(Lifetimes({}, {60, 60}), Lifetimes({}, {60})), std::nullopt);
}

// Ten lifetimes, each of the 252 ways to deal them counted one by one in R.
TEST(PermutationOfLogRankScores, CountsAsTheReferenceDoes) {
  const std::vector<Lifetime> all = {{3, false}, {5, false}, {5, false}, {8, false}, {10, false},
                                     {6, false}, {9, false}, {12, true}, {12, true}, {15, false}};
  const std::vector<double> scores = LogRankScores(all);
  const std::vector<double> expected = {0.9,
                                        0.6777777777777778,
                                        0.6777777777777778,
                                        0.3682539682539683,
                                        -0.0817460317460317,
                                        0.5349206349206349,
                                        0.1682539682539683,
                                        -1.0817460317460317,
                                        -1.0817460317460317,
                                        -1.0817460317460319};
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_THAT(scores[i], DoubleNear(expected[i], kExact));
  const auto first = LogRank(std::span(all).first(5), std::span(all).subspan(5));
  ASSERT_TRUE(first);
  EXPECT_THAT(first->chi_square, DoubleNear(4.438543284109006, kExact));

  std::vector<double> second_in_front(scores.begin() + 5, scores.end());
  second_in_front.insert(second_in_front.end(), scores.begin(), scores.begin() + 5);
  const auto tails = PermutationTails(second_in_front, 5);
  ASSERT_TRUE(tails);
  EXPECT_TRUE(tails->exact);
  EXPECT_THAT(tails->lower, DoubleNear(0.0277777777777778, kExact));
  EXPECT_THAT(tails->upper, DoubleNear(0.976190476190476, kExact));
}

TEST(Normal, IsThatOfTheReference) {
  EXPECT_THAT(NormalQuantile(0.95), DoubleNear(1.6448536269514715, 1e-12));
  EXPECT_THAT(NormalQuantile(0.975), DoubleNear(1.9599639845400536, 1e-12));
  EXPECT_THAT(NormalQuantile(0.3), DoubleNear(-0.5244005127080407, 1e-12));
  EXPECT_THAT(NormalQuantile(1e-6), DoubleNear(-4.7534243088228987, 1e-11));
  EXPECT_THAT(NormalCdf(-3), DoubleNear(0.001349898031630095, 1e-15));
  EXPECT_THAT(NormalCdf(1.96), DoubleNear(0.975002104851779627, 1e-14));
}

}  // namespace
}  // namespace triodrill
