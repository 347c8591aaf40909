#include "coordinator/conduct/progress.h"

#include "gtest/gtest.h"

namespace triodrill::conduct {
namespace {

TimePoint At(double seconds) { return FromNanos(static_cast<int64_t>(seconds * 1e9)); }

// Steps first..last at a fixed rate, by two slots.
void Steps(ProgressTrack& track, int64_t first, int64_t last, double start, double rate) {
  for (int64_t step = first; step <= last; ++step) {
    const TimePoint at = At(start + static_cast<double>(step - first) / rate);
    track.Add("n0/0", step, at);
    track.Add("n1/0", step, at);
  }
}

const Steadiness kWanted{.steps = 20, .at_least = std::chrono::seconds(3)};

TEST(ProgressTrack, IsSteadyOnceItHasStepsTimeAndEverySlot) {
  ProgressTrack track;
  Steps(track, 1, 30, 0, 10);
  EXPECT_FALSE(track.Steady(kWanted, 2));  // 2.9 s
  Steps(track, 31, 33, 3, 10);
  const std::optional<Baseline> baseline = track.Steady(kWanted, 2);
  ASSERT_TRUE(baseline);
  EXPECT_NEAR(baseline->steps_per_s, 10, 0.01);
  EXPECT_EQ(baseline->high_water, 33);
  EXPECT_FALSE(track.Steady(kWanted, 3));
}

TEST(ProgressTrack, IsNotSteadyWhileTheRateChanges) {
  ProgressTrack track;
  Steps(track, 1, 20, 0, 10);
  Steps(track, 21, 30, 2.2, 5);
  EXPECT_FALSE(track.Steady(kWanted, 1));
}

TEST(ProgressTrack, ARestartBeginsAnewButKeepsTheHighWaterMark) {
  ProgressTrack track;
  Steps(track, 1, 50, 0, 10);
  Steps(track, 41, 60, 10, 10);
  EXPECT_EQ(track.high_water(), 60);
  EXPECT_FALSE(track.Steady(kWanted, 1));
  Steps(track, 61, 90, 12, 10);
  EXPECT_TRUE(track.Steady(kWanted, 1));
}

TEST(ProgressTrack, HasRecoveredOnlyPastTheHighWaterMarkAndFastEnough) {
  ProgressTrack track;
  Steps(track, 1, 100, 0, 10);
  Steps(track, 91, 105, 20, 10);
  EXPECT_FALSE(track.Recovered(At(10), 100, 9.5));  // catching up
  Steps(track, 106, 150, 21.5, 10);
  EXPECT_FALSE(track.Recovered(At(10), 100, 9.5));  // 4.4 s past 101
  Steps(track, 151, 160, 26, 10);
  EXPECT_TRUE(track.Recovered(At(10), 100, 9.5));
  EXPECT_FALSE(track.Recovered(At(10), 100, 10.5));  // too slow
  EXPECT_FALSE(track.Recovered(At(24), 100, 9.5));   // the window began before
}

}  // namespace
}  // namespace triodrill::conduct
