#include "triodrill/workload/corrupt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "triodrill/workload.h"

namespace triodrill::workload {
namespace {

template <typename To, typename From>
To As(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

RuleOrder Order(RuleKind kind) {
  RuleOrder order{};
  order.kind = kind;
  order.pick = kByIndex;
  order.elements = 1;
  return order;
}

uint64_t Mutated(const RuleOrder& order, int dtype, uint64_t raw) {
  uint64_t after = 0;
  EXPECT_TRUE(Mutate(order, static_cast<uint32_t>(dtype), raw, &after));
  return after;
}

TEST(Mutate, FlipsTheBitThatIsMeantAndNoOther) {
  RuleOrder order = Order(kFlip);
  order.bit = 31;
  EXPECT_EQ(As<float>(static_cast<uint32_t>(Mutated(order, TRIODRILL_FLOAT32, As<uint32_t>(1.5F)))), -1.5F);
  order.bit = 63;
  EXPECT_EQ(As<double>(Mutated(order, TRIODRILL_FLOAT64, As<uint64_t>(1.5))), -1.5);
  order.bit = 15;
  EXPECT_EQ(Mutated(order, TRIODRILL_BFLOAT16, 0x3f80), 0xbf80u);
}

TEST(Mutate, RefusesABitThatTheTypeDoesNotHave) {
  uint64_t after = 0;
  for (const auto& [dtype, bits] : {std::pair{TRIODRILL_INT8, 8}, {TRIODRILL_FLOAT16, 16}, {TRIODRILL_FLOAT32, 32}}) {
    RuleOrder order = Order(kFlip);
    order.bit = static_cast<uint32_t>(bits);
    EXPECT_FALSE(Mutate(order, static_cast<uint32_t>(dtype), 0, &after)) << dtype;
    order.bit = static_cast<uint32_t>(bits) - 1;
    EXPECT_TRUE(Mutate(order, static_cast<uint32_t>(dtype), 0, &after)) << dtype;
  }
}

TEST(Mutate, MakesWhatIsNotANumberInEachFloatingType) {
  const RuleOrder order = Order(kNan);
  EXPECT_TRUE(std::isnan(As<float>(static_cast<uint32_t>(Mutated(order, TRIODRILL_FLOAT32, As<uint32_t>(0.0F))))));
  EXPECT_TRUE(std::isnan(As<double>(Mutated(order, TRIODRILL_FLOAT64, As<uint64_t>(-2.0)))));
  EXPECT_EQ(Mutated(order, TRIODRILL_FLOAT16, 0), 0x7e00u);
  EXPECT_EQ(Mutated(order, TRIODRILL_BFLOAT16, 0), 0x7fc0u);
  uint64_t after = 0;
  EXPECT_FALSE(Mutate(order, TRIODRILL_INT32, 7, &after)) << "an integer has none";
}

TEST(Mutate, ScalesAndSticks) {
  RuleOrder scale = Order(kScale);
  scale.factor = -4;
  EXPECT_EQ(As<float>(static_cast<uint32_t>(Mutated(scale, TRIODRILL_FLOAT32, As<uint32_t>(1.5F)))), -6.0F);
  EXPECT_EQ(Mutated(scale, TRIODRILL_BFLOAT16, 0x3f80), 0xc080u);
  RuleOrder stuck = Order(kStuck);
  stuck.bit = 1;
  stuck.value = 1;
  EXPECT_EQ(Mutated(stuck, TRIODRILL_INT8, 0b01), 0b11u);
  EXPECT_EQ(Mutated(stuck, TRIODRILL_INT8, 0b10), 0b10u);
  stuck.value = 0;
  EXPECT_EQ(Mutated(stuck, TRIODRILL_INT8, 0b11), 0b01u);
}

std::vector<uint64_t> All(const RuleOrder& order, uint64_t total) {
  std::vector<uint64_t> drawn(order.elements);
  for (uint32_t i = 0; i < order.elements; ++i) drawn[i] = Pick(order, total, i, drawn.data());
  return drawn;
}

TEST(Pick, DrawsTheSameDifferentElementsFromASeed) {
  RuleOrder order = Order(kFlip);
  order.pick = kBySeed;
  order.seed = 42;
  order.elements = 100;
  const std::vector<uint64_t> drawn = All(order, 7000);
  EXPECT_EQ(std::set<uint64_t>(drawn.begin(), drawn.end()).size(), 100u);
  for (const uint64_t index : drawn) EXPECT_LT(index, 7000u);
  EXPECT_EQ(All(order, 7000), drawn);
  order.seed = 43;
  EXPECT_NE(All(order, 7000), drawn);
}

TEST(Pick, FindsEveryElementIfAllAreWanted) {
  RuleOrder order = Order(kFlip);
  order.pick = kBySeed;
  order.elements = 64;
  const std::vector<uint64_t> drawn = All(order, 64);
  EXPECT_EQ(std::set<uint64_t>(drawn.begin(), drawn.end()).size(), 64u);
  order.elements = 65;
  EXPECT_EQ(All(order, 64).back(), 64u) << "there is no such element";
}

TEST(Pick, CountsOnFromAnIndexAndStopsAtTheEnd) {
  RuleOrder order = Order(kFlip);
  order.index = 3;
  order.elements = 3;
  EXPECT_EQ(All(order, 5), (std::vector<uint64_t>{3, 4, 5}));
  order.index = UINT64_MAX;
  EXPECT_EQ(All(order, 5), (std::vector<uint64_t>{5, 5, 5}));
}

TEST(NameMatches, TheWholeTensorOrItsParts) {
  EXPECT_TRUE(NameMatches("gradients", "gradients"));
  EXPECT_TRUE(NameMatches("gradients", "gradients/layer1.bias"));
  EXPECT_FALSE(NameMatches("gradients", "gradients2"));
  EXPECT_FALSE(NameMatches("gradients", "reduced_gradients"));
  EXPECT_FALSE(NameMatches("", "gradients"));
}

}  // namespace
}  // namespace triodrill::workload
