#include "reports/stats/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/stats/distributions.h"

namespace triodrill {
namespace {

using ::testing::DoubleNear;

// The sample sizes of "zero-failure" and "one-failure" demonstration tests at 95% confidence, as handbooks of
// reliability print them.
TEST(TrialsForShare, AreThoseOfTheHandbooks) {
  EXPECT_EQ(TrialsForShare(0.50, 0.95), 5);
  EXPECT_EQ(TrialsForShare(0.80, 0.95), 14);
  EXPECT_EQ(TrialsForShare(0.90, 0.95), 29);
  EXPECT_EQ(TrialsForShare(0.95, 0.95), 59);
  EXPECT_EQ(TrialsForShare(0.99, 0.95), 299);
  EXPECT_EQ(TrialsForShare(0.999, 0.95), 2995);
  EXPECT_EQ(TrialsForShare(0.90, 0.95, 1), 46);
  EXPECT_EQ(TrialsForShare(0.95, 0.95, 1), 93);
}

TEST(TrialsForShare, AreTheLeastThatDo) {
  for (const double share : {0.3, 0.75, 0.97}) {
    for (const int failures : {0, 1, 3}) {
      const auto n = TrialsForShare(share, 0.95, failures);
      ASSERT_TRUE(n);
      EXPECT_GE(BinomialLowerLimit(*n - failures, *n, 0.95), share - 1e-9);
      EXPECT_LT(BinomialLowerLimit(*n - 1 - failures, *n - 1, 0.95), share);
    }
  }
}

TEST(TrialsForShare, OfCertaintyAreNoNumber) { EXPECT_EQ(TrialsForShare(1.0, 0.95), std::nullopt); }

TEST(TrialsForQuantiles, AreThoseOfTheTables) {
  EXPECT_EQ(TrialsForMedian(0.95), 6);
  EXPECT_EQ(TrialsForUpperLimit(0.5, 0.95), 5);
  EXPECT_EQ(TrialsForUpperLimit(0.9, 0.95), 29);
}

TEST(FewestToDecide, IsWhereOneDealInSoManyIsRareEnough) {
  EXPECT_EQ(FewestToDecide(0.05), 3);   // C(6,3) = 20
  EXPECT_EQ(FewestToDecide(0.01), 5);   // C(10,5) = 252
  EXPECT_EQ(FewestToDecide(0.001), 7);  // C(14,7) = 3432
  EXPECT_EQ(FewestToDecide(0.5), 1);
}

// Noether's formula by hand: (1.6449 + 0.8416)^2 / (6 * 0.2^2) = 25.76.
TEST(TrialsToCompare, FollowNoether) {
  EXPECT_EQ(TrialsToCompare(0.7, 0.05, 0.8), 26);
  EXPECT_EQ(TrialsToCompare(0.5, 0.05, 0.8), std::nullopt);
  EXPECT_EQ(TrialsToCompare(1.0, 0.05, 0.8), 5);
  EXPECT_EQ(TrialsToCompare(1.0, 0.001, 0.5), 7) << "never fewer than can decide";
}

TEST(ShareBeyondAt, IsOneHalfWhereNothingChanges) {
  EXPECT_THAT(ShareBeyondAt(1.0, 0.1), DoubleNear(0.5, 1e-12));
  EXPECT_THAT(ShareBeyondAt(1.1, 0.1), DoubleNear(NormalCdf(std::log(1.1) / (0.1 * std::sqrt(2.0))), 1e-12));
  EXPECT_EQ(ShareBeyondAt(1.1, 0), 1);
}

TEST(ChanceThatAllPass, FallsWithEveryTrial) {
  EXPECT_THAT(ChanceThatAllPass(59, 0.99), DoubleNear(0.5527, 1e-4));
  EXPECT_EQ(ChanceThatAllPass(10, 1.0), 1);
}

}  // namespace
}  // namespace triodrill
