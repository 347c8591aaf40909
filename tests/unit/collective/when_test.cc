#include "injectors/collective/when.h"

#include <gtest/gtest.h>

#include <string>

namespace triodrill::collective {
namespace {

// A letter a call: x where it acts.
std::string Pattern(const RuleOrder& order, uint64_t calls = 12) {
  std::string pattern;
  for (uint64_t call = 0; call < calls; ++call) pattern += Acts(order, call) ? 'x' : '.';
  return pattern;
}

TEST(Acts, InTheCallThatIsMeant) {
  EXPECT_EQ(Pattern({}), "x...........");
  EXPECT_EQ(Pattern({.first = 3}), "...x........");
  EXPECT_EQ(Pattern({.first = 3, .burst = 4}), "...xxxx.....");
}

TEST(Acts, AgainAfterSoMany) {
  EXPECT_EQ(Pattern({.first = 1, .burst = 2, .every = 5}), ".xx...xx...x");
  EXPECT_EQ(Pattern({.burst = 1, .every = 1}), "xxxxxxxxxxxx");
}

TEST(Acts, ByChanceInBurstsThatCanBeKnownBeforehand) {
  RuleOrder order{};
  order.burst = 3;
  order.chance = 1u << 28;  // one in 16
  order.corruption.seed = 4;
  const std::string pattern = Pattern(order, 4000);
  EXPECT_EQ(pattern, Pattern(order, 4000));
  uint64_t begun = 0;
  for (uint64_t call = 0; call < 4000; ++call) begun += Begins(order, call) ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(begun), 250, 62);  // four standard deviations
  const size_t first = pattern.find('x');
  EXPECT_EQ(pattern.substr(first, 3), "xxx");
  order.first = 2000;
  EXPECT_GE(Pattern(order, 4000).find('x'), 2000u);
}

TEST(IsOver, WhenItsOneBurstIs) {
  const RuleOrder once{.first = 2, .burst = 2};
  EXPECT_FALSE(IsOver(once, 0));
  EXPECT_FALSE(IsOver(once, 3));
  EXPECT_TRUE(IsOver(once, 4));
  EXPECT_FALSE(IsOver({.first = 2, .burst = 2, .every = 9}, 1000));
  EXPECT_FALSE(IsOver({.chance = 1}, 1000));
}

}  // namespace
}  // namespace triodrill::collective
