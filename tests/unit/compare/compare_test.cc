#include "reports/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/evidence/derive.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run of some trials of one killed rank; what the caller adds to `extra` makes it slower to recover.
class OneRun {
 public:
  explicit OneRun(int trials, double extra = 0, int sham = 3) : story_(2) {
    *story_.expect().mutable_recovery_time()->mutable_max() = Lasting(30);
    for (int i = 0; i < trials; ++i) {
      const double back = 5 + 0.02 * i + extra;
      story_.Trial().Kill("n2/0").Signal(2 + 0.01 * i, v1::DETECTED, "n2/0").Restart(2.1).Restored(back, 990);
      story_.Run(back + 0.5, back + 13, 991).End(back + 14);
    }
    for (int i = 0; i < sham; ++i) story_.Sham().Run(0.1, 4, 1001).End(4);
  }
  Story& story() { return story_; }
  ComparedRun run(const std::string& name) {
    trio_ = story_.Measured();
    verdict_ = story_.Judged();
    return {&story_.plan, &trio_, &verdict_, name};
  }

 private:
  Story story_;
  Trio trio_;
  Verdict verdict_;
};

const MetricChange& MetricOf(const RunComparison& comparison, const std::string& name) {
  for (const MetricChange& metric : comparison.metrics) {
    if (metric.name == name) return metric;
  }
  static const MetricChange kNone;
  ADD_FAILURE() << "no metric " << name;
  return kNone;
}

TEST(Compare, OfARunWithItselfIsNoWorse) {
  OneRun base(6);
  OneRun next(6);
  const RunComparison comparison = Compare(base.run("a"), next.run("b"), {}, false);
  EXPECT_EQ(comparison.change, Change::kNoWorse) << ComparisonText(comparison, false);
  EXPECT_EQ(comparison.exit_code, ExitCode::kPassed);
  EXPECT_THAT(comparison.headline, HasSubstr("NO WORSE"));
  EXPECT_TRUE(comparison.differences.empty());
}

TEST(Compare, FindsTheMetricThatRegressed) {
  OneRun base(7);
  OneRun next(7, 3);
  const RunComparison comparison = Compare(base.run("a"), next.run("b"), {}, false);
  EXPECT_EQ(comparison.change, Change::kRegressed) << ComparisonText(comparison, false);
  EXPECT_EQ(comparison.exit_code, ExitCode::kFailed);
  EXPECT_EQ(MetricOf(comparison, "recovery_time").change, Change::kRegressed);
  EXPECT_EQ(MetricOf(comparison, "detection_latency").change, Change::kNoWorse);
  EXPECT_NEAR(MetricOf(comparison, "recovery_time").shift->estimate.low, 3, 0.1);
  const RunComparison back = Compare(next.run("b"), base.run("a"), {}, false);
  EXPECT_EQ(MetricOf(back, "recovery_time").change, Change::kImproved);
  EXPECT_EQ(back.exit_code, ExitCode::kPassed);
}

TEST(Compare, OfOneTrialEachSaysHowManyWouldBeEnough) {
  OneRun base(1, 0, 1);
  OneRun next(1, 3, 1);
  const RunComparison comparison = Compare(base.run("a"), next.run("b"), {}, false);
  EXPECT_EQ(comparison.change, Change::kTooFew);
  EXPECT_EQ(comparison.exit_code, ExitCode::kInconclusive);
  EXPECT_EQ(MetricOf(comparison, "recovery_time").trials_needed, 3);
  EXPECT_THAT(ComparisonText(comparison, false), HasSubstr("about 3 on each side would be enough"));
}

TEST(Compare, CountsALostRecoveryAsARegression) {
  OneRun base(6);
  Story dead(2);
  *dead.expect().mutable_recovery_time()->mutable_max() = Lasting(30);
  for (int i = 0; i < 6; ++i) dead.Trial().Kill("n2/0").Signal(2 + 0.01 * i, v1::DETECTED, "n2/0").End(60);
  const Trio trio = dead.Measured();
  const Verdict verdict = dead.Judged();
  const RunComparison comparison = Compare(base.run("a"), {&dead.plan, &trio, &verdict, "b"}, {}, true);
  const MetricChange& recovery = MetricOf(comparison, "recovery_time");
  EXPECT_TRUE(recovery.log_rank);
  EXPECT_EQ(recovery.censored_next, 6);
  EXPECT_EQ(recovery.change, Change::kRegressed) << ComparisonText(comparison, false);
}

TEST(Compare, RefusesAnotherEnvironmentUnlessItIsAskedFor) {
  OneRun base(6);
  OneRun next(6);
  next.story().plan.mutable_partition()->mutable_spec()->mutable_environment()->set_collectives("other");
  next.story().plan.mutable_drill()->mutable_spec()->mutable_trials()->set_faulted(60);
  const RunComparison refused = Compare(base.run("a"), next.run("b"), {}, false);
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.exit_code, ExitCode::kRefused);
  EXPECT_TRUE(refused.metrics.empty());
  ASSERT_EQ(refused.differences.size(), 1u) << "how often it was tried is no difference";
  EXPECT_EQ(refused.differences[0].what, "partition.environment.collectives");
  EXPECT_EQ(refused.differences[0].next, "other");
  const RunComparison across = Compare(base.run("a"), next.run("b"), {}, true);
  EXPECT_EQ(across.change, Change::kNoWorse);
  for (const std::string& text : {ComparisonText(across, false), ComparisonMarkdown(across), ComparisonJson(across)}) {
    EXPECT_THAT(text, HasSubstr("partition.environment.collectives"));
  }
}

TEST(Compare, RefusesAnotherFaultAndAnotherProfile) {
  OneRun base(3);
  OneRun fault(3);
  fault.story().plan.mutable_drill()->mutable_spec()->add_faults()->set_inject("link.down");
  EXPECT_TRUE(Compare(base.run("a"), fault.run("b"), {}, false).refused);
  OneRun profile(3);
  profile.story().plan.mutable_pipeline()->mutable_spec()->add_not_applicable("replace");
  const RunComparison refused = Compare(base.run("a"), profile.run("b"), {}, false);
  ASSERT_EQ(refused.differences.size(), 1u);
  EXPECT_EQ(refused.differences[0].what, "pipeline.spec.not_applicable");
}

TEST(Compare, ShowsHostileNamesAndRunsNone) {
  OneRun base(1);
  OneRun next(1);
  next.story().plan.mutable_partition()->mutable_spec()->mutable_environment()->set_collectives("<b>|\x1b[31m");
  const RunComparison comparison = Compare(base.run("\x1b[2J"), next.run("b"), {}, false);
  EXPECT_THAT(ComparisonText(comparison, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(ComparisonMarkdown(comparison), HasSubstr("&lt;b&gt;\\|"));
}

TEST(Compare, OfRunsWithoutAValidTrialDecidesNothing) {
  OneRun base(0, 0, 0);
  OneRun next(0, 0, 0);
  const RunComparison comparison = Compare(base.run("a"), next.run("b"), {}, false);
  EXPECT_EQ(comparison.exit_code, ExitCode::kInconclusive);
}

// The chance of even one false alarm among several metrics.
TEST(CompareMetrics, CorrectsForTheirNumber) {
  std::vector<MetricSamples> samples;
  for (int i = 0; i < 5; ++i) {
    MetricSamples one{"m" + std::to_string(i), "s", Scale::kTime, {}, {}};
    // Separated, as one deal of twenty is: alone it would be an alarm.
    for (const double value : {1.0, 1.1, 1.2}) one.base.values.push_back({value, value});
    for (const double value : {2.0, 2.1, 2.2}) one.next.values.push_back({value, value});
    samples.push_back(one);
  }
  const std::vector<MetricChange> metrics = CompareMetrics(samples, {});
  EXPECT_NEAR(metrics[0].p_worse, 0.05, 1e-12);
  EXPECT_NEAR(metrics[0].adjusted_worse, 0.25, 1e-12);
  EXPECT_NE(metrics[0].change, Change::kRegressed);
  EXPECT_EQ(CompareMetrics({samples[0]}, {})[0].change, Change::kRegressed);
}

}  // namespace
}  // namespace triodrill
