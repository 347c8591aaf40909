#include "coordinator/fleet/offset.h"

#include <gtest/gtest.h>

#include <random>

namespace triodrill::fleet {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = OffsetEstimator::Verdict;

// A node whose clock is off by `offset` at time zero and runs fast by `drift_ppb`.
struct Node {
  Nanos offset{0};
  int64_t drift_ppb = 0;

  Nanos OffsetAt(TimePoint when) const {
    return offset +
           Nanos(static_cast<int64_t>(static_cast<double>(ToNanos(when)) * static_cast<double>(drift_ppb) / 1e9));
  }
  int64_t At(TimePoint when) const { return ToNanos(when + OffsetAt(when)); }
};

Exchange Ask(const Node& node, TimePoint asked, Nanos there, Nanos on_node, Nanos back) {
  return {asked, node.At(asked + there), node.At(asked + there + on_node), asked + there + on_node + back};
}

TEST(Offset, IsUnknownBeforeTheFirstExchange) { EXPECT_FALSE(OffsetEstimator().Bounds(FromNanos(0)).has_value()); }

TEST(Offset, IsBoundedByTheRoundTrip) {
  const Node node{seconds(3)};
  OffsetEstimator estimator(0);
  EXPECT_EQ(estimator.Add(Ask(node, FromNanos(1'000'000), microseconds(40), microseconds(5), microseconds(60))),
            Verdict::kTaken);
  const auto bounds = estimator.Bounds(FromNanos(1'105'000)).value();
  EXPECT_LE(bounds.earliest, seconds(3));
  EXPECT_GE(bounds.latest, seconds(3));
  EXPECT_EQ(bounds.min_round_trip, microseconds(100));
  EXPECT_LE(bounds.Width(), microseconds(101));
  EXPECT_EQ(bounds.exchanges, 1);
}

TEST(Offset, GetsNarrowerWithinABurstAndWiderWithAge) {
  const Node node{milliseconds(-7)};
  OffsetEstimator estimator(100'000);
  estimator.Add(Ask(node, FromNanos(0), microseconds(300), microseconds(5), microseconds(20)));
  const Nanos first = estimator.Bounds(FromNanos(325'000))->Width();
  estimator.Add(Ask(node, FromNanos(400'000), microseconds(20), microseconds(5), microseconds(300)));
  const auto narrow = estimator.Bounds(FromNanos(725'000)).value();
  EXPECT_LT(narrow.Width(), first / 2);
  const auto aged = estimator.Bounds(FromNanos(725'000) + seconds(10)).value();
  EXPECT_GE(aged.Width(), narrow.Width() + 2 * milliseconds(1));  // 100 ppm of 10 s, to each side
}

TEST(Offset, StartsAfreshWhenAClockWasStepped) {
  Node node{seconds(1)};
  OffsetEstimator estimator;
  estimator.Add(Ask(node, FromNanos(0), microseconds(50), microseconds(5), microseconds(50)));
  node.offset = seconds(2);
  EXPECT_EQ(estimator.Add(Ask(node, FromNanos(1'000'000), microseconds(50), microseconds(5), microseconds(50))),
            Verdict::kStepped);
  const auto bounds = estimator.Bounds(FromNanos(1'105'000)).value();
  EXPECT_LE(bounds.earliest, seconds(2));
  EXPECT_GE(bounds.latest, seconds(2));
  EXPECT_EQ(bounds.exchanges, 1);
}

TEST(Offset, IgnoresAnExchangeThatContradictsItself) {
  OffsetEstimator estimator;
  EXPECT_EQ(estimator.Add({FromNanos(100), 500, 400, FromNanos(200)}), Verdict::kNonsense);
  EXPECT_EQ(estimator.Add({FromNanos(200), 400, 500, FromNanos(100)}), Verdict::kNonsense);
  EXPECT_EQ(estimator.Add({FromNanos(0), 0, 1'000'000, FromNanos(1'000)}), Verdict::kNonsense);
  EXPECT_FALSE(estimator.Bounds(FromNanos(300)).has_value());
}

TEST(Offset, AlwaysHoldsTheTruth) {
  constexpr int64_t kBound = 100'000;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&random](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const Node node{Nanos(draw(-1'000'000'000'000, 1'000'000'000'000)), draw(-kBound / 2, kBound / 2)};
    OffsetEstimator estimator(kBound);
    TimePoint now = FromNanos(draw(0, 1'000'000'000));
    for (int i = 0; i < 60; ++i) {
      // Delays with a long tail, each way on its own.
      const Nanos there(draw(10'000, draw(0, 9) == 0 ? 50'000'000 : 200'000));
      const Nanos back(draw(10'000, draw(0, 9) == 0 ? 50'000'000 : 200'000));
      const Exchange exchange = Ask(node, now, there, Nanos(draw(0, 500'000)), back);
      ASSERT_EQ(estimator.Add(exchange), Verdict::kTaken) << "seed " << seed << " exchange " << i;
      now = exchange.answered;
      if (draw(0, 15) == 0) now += Nanos(draw(0, 20'000'000'000));
      const auto bounds = estimator.Bounds(now).value();
      ASSERT_LE(bounds.earliest, node.OffsetAt(now)) << "seed " << seed << " exchange " << i;
      ASSERT_GE(bounds.latest, node.OffsetAt(now)) << "seed " << seed << " exchange " << i;

      // And so does what is mapped with it, before and after.
      const TimePoint event = now + Nanos(draw(-5'000'000'000, 5'000'000'000));
      v1::NodeInstant seen;
      seen.set_earliest_node_ns(node.At(event) - 1000);
      seen.set_latest_node_ns(node.At(event) + 1000);
      const Instant mapped = ToCoordinator(bounds, seen);
      ASSERT_LE(mapped.earliest, event) << "seed " << seed << " exchange " << i;
      ASSERT_GE(mapped.latest, event) << "seed " << seed << " exchange " << i;
    }
  }
}

TEST(Offset, SendsAnInstantToTheMiddleOfWhatIsPossible) {
  const OffsetBounds bounds{.earliest = Nanos(100), .latest = Nanos(300), .measured = FromNanos(0)};
  EXPECT_EQ(ToNode(bounds, FromNanos(1000)), 1200);
}

TEST(Offset, DoesNotOverflowOnOldKnowledge) {
  OffsetBounds bounds{.measured = FromNanos(0), .drift_ppb = 100'000};
  const auto year = std::chrono::hours(24 * 365);
  EXPECT_GE(At(bounds, FromNanos(0) + year).latest, year / 10'000);
}

}  // namespace
}  // namespace triodrill::fleet
