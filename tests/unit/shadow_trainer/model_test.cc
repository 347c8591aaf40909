#include "drills/shadow/trainer/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "drills/shadow/trainer/digest.h"
#include "drills/shadow/trainer/reference.h"
#include "tests/unit/shadow_trainer/local_job.h"

namespace triodrill::shadow::trainer {
namespace {

std::vector<ReferencePoint> ReferenceRun(const Layout& layout, uint64_t seed, int64_t steps) {
  std::vector<ReferencePoint> points;
  RunReference(layout, seed, steps, [&](const ReferencePoint& point) { points.push_back(point); });
  return points;
}

TEST(TrainerModel, LearnsWhateverTheSeed) {
  for (const uint64_t seed : {1U, 7U, 42U}) {
    const auto points = ReferenceRun({8, 2}, seed, 300);
    EXPECT_GT(points.front().loss, 0.8);
    EXPECT_LT(points[99].loss, points.front().loss / 4);
    EXPECT_LT(points.back().loss, points[99].loss);
  }
}

TEST(TrainerModel, IsTheSameModelHoweverItIsSplit) {
  // Not to the bit: the sum over the shards is added in another order.
  const auto whole = ReferenceRun({4, 1}, 7, 50);
  const auto halves = ReferenceRun({8, 2}, 7, 50);
  const auto quarters = ReferenceRun({16, 4}, 7, 50);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(whole[i].loss, halves[i].loss, 1e-3);
    EXPECT_NEAR(whole[i].loss, quarters[i].loss, 1e-3);
  }
}

TEST(TrainerModel, RepeatsItselfToTheBitAndDependsOnTheSeed) {
  EXPECT_EQ(ReferenceRun({8, 2}, 7, 20).back().hashes, ReferenceRun({8, 2}, 7, 20).back().hashes);
  EXPECT_NE(ReferenceRun({8, 2}, 7, 20).back().hashes, ReferenceRun({8, 2}, 8, 20).back().hashes);
  EXPECT_NE(ReferenceRun({8, 2}, 7, 20).back().hashes, ReferenceRun({4, 2}, 7, 20).back().hashes);
}

// The bits of one run, written down: a change of compiler or flags that changes them would make recorded runs a lie.
TEST(TrainerModel, HasTheBitsItAlwaysHad) {
  EXPECT_THAT(ReferenceRun({8, 2}, 7, 400).back().hashes,
              testing::ElementsAre(0x368c230e8276f28cU, 0x62e4b76f2442d4b0U));
}

TEST(TrainerModel, SplitOverRanksItComesToTheReference) {
  for (const Layout& layout : {Layout{8, 2}, Layout{4, 4}, Layout{3, 1}, Layout{1, 1}}) {
    LocalJob job(layout, 7, {});
    for (int step = 0; step < 15; ++step) job.Step();
    const auto point = ReferenceRun(layout, 7, 15).back();
    for (int rank = 0; rank < layout.world; ++rank) {
      EXPECT_EQ(StateHash(job.rank(rank).state), point.hashes[static_cast<size_t>(layout.Shard(rank))]) << rank;
    }
  }
}

// The gradient is the slope of the loss: compared with differences of the loss itself.
TEST(TrainerModel, GradientIsTheSlopeOfTheLoss) {
  const Layout layout{1, 1};
  State state = InitialState(layout, 3, 0);
  Pass pass;
  std::vector<float> outputs(kPartial);
  std::vector<float> gradient(layout.Parameters());
  const auto loss = [&] {
    Forward(layout, 3, 1, 0, state.weights, pass, outputs);
    return Backward(layout, state.weights, pass, outputs, gradient);
  };
  loss();
  const std::vector<float> slopes = gradient;
  for (const size_t at : {size_t{0}, size_t{777}, size_t{4100}, size_t{4500}, slopes.size() - 1}) {
    const float before = state.weights[at];
    state.weights[at] = before + 0.01F;
    const double above = loss();
    state.weights[at] = before - 0.01F;
    const double below = loss();
    state.weights[at] = before;
    EXPECT_NEAR((above - below) / 0.02, slopes[at], 1e-4 + 0.02 * std::fabs(slopes[at])) << at;
  }
}

TEST(TrainerModel, SumsInTheOrderOfTheRanks) {
  const std::vector<float> blocks = {1e8F, 1, 9, -1e8F, 2, 9, 1, 3, 9};
  std::vector<float> sum(2);
  SumInRankOrder(blocks, 3, 3, 0.5F, sum);
  EXPECT_THAT(sum, testing::ElementsAre(0.5F, 3.0F)) << "(1e8 - 1e8) + 1, and not 1e8 + (-1e8 + 1) = 0";
}

TEST(TrainerMemory, StaysWhereItIs) {
  RankMemory memory({8, 2}, 7, 3);
  const float* const places[] = {memory.state.weights.data(), memory.state.momentum.data(), memory.gradient().data(),
                                 memory.reduced.data()};
  memory.Assign(InitialState(memory.layout, 7, 1));
  memory.RunForward(1, true);
  memory.RunBackward(true);
  memory.Reduce();
  memory.ApplyReduced();
  EXPECT_THAT(places, testing::ElementsAre(memory.state.weights.data(), memory.state.momentum.data(),
                                           memory.gradient().data(), memory.reduced.data()));
  EXPECT_EQ(memory.state.step, 1);
  EXPECT_EQ(memory.previous.step, 0);
}

TEST(TrainerRestore, FindsTheNewestStepThatAllHave) {
  const auto newest = [](std::vector<Holding> holdings) { return NewestCommonStep(holdings); };
  EXPECT_EQ(newest({{12, 11}, {12, 11}, {12, 11}}), 12);
  EXPECT_EQ(newest({{12, 11}, {11, 10}, {12, 11}}), 11);
  EXPECT_EQ(newest({{11, 10}, {12, 11}, {11, kNoState}}), 11);
  EXPECT_EQ(newest({{12, 11}, {10, 9}}), std::nullopt);
  EXPECT_EQ(newest({{12, 11}, {kNoState, kNoState}}), std::nullopt);
  EXPECT_EQ(newest({{kNoState, kNoState}, {kNoState, kNoState}}), std::nullopt);
  EXPECT_EQ(newest({}), std::nullopt);
}

// Ranks in order: replica 0 shard 0, replica 0 shard 1, replica 1 shard 0, …
TEST(TrainerRestore, FindsTheNewestStepOfWhichEachShardIsHeld) {
  const Layout layout{.world = 6, .tensor_parallel = 2};
  const auto held = [&](std::vector<Holding> holdings) { return NewestHeldStep(layout, holdings).value_or(Held{}); };
  constexpr Holding kNone;
  constexpr Holding kAhead{12, 11};
  constexpr Holding kBehind{11, 10};
  EXPECT_EQ(held({kBehind, kBehind, kBehind, kBehind, kNone, kBehind}).step, 11);
  // One replica lost a rank, and only one rank of each shard has applied the last step, each in another replica.
  const Held mixed = held({kNone, kBehind, kAhead, kBehind, kBehind, kAhead});
  EXPECT_EQ(mixed.step, 12);
  EXPECT_THAT(mixed.replica_of_shard, testing::ElementsAre(1, 2));
  // Of shard 1 nobody has: the step before is all there is.
  const Held before = held({kAhead, kNone, kAhead, kBehind, kAhead, kBehind});
  EXPECT_EQ(before.step, 11);
  EXPECT_THAT(before.replica_of_shard, testing::ElementsAre(0, 1));
  EXPECT_EQ(held({kAhead, kNone, kAhead, kNone, kAhead, kNone}).step, kNoState);
  EXPECT_EQ(held({kNone, kNone, kNone, kNone, kNone, kNone}).step, kNoState);
}

}  // namespace
}  // namespace triodrill::shadow::trainer
