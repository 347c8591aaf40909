// What became of the monitoring that a drill rests on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

v1::MonitoringFingerprint Taken(const std::string& when, std::vector<std::pair<std::string, std::string>> parts) {
  v1::MonitoringFingerprint taken;
  taken.set_when(when);
  for (auto& [name, digest] : parts) {
    v1::MonitoringPart& part = *taken.add_parts();
    part.set_name(name);
    part.set_sha256(digest);
  }
  return taken;
}

class Monitored : public ::testing::Test {
 protected:
  Monitored() {
    story_.plan.mutable_pipeline()->mutable_spec()->mutable_monitoring()->set_prometheus("http://127.0.0.1:9090");
    *story_.expect().mutable_detection_latency()->mutable_max() = Lasting(10);
    story_.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991);
  }
  void Say(const v1::MonitoringFingerprint& taken, double at) {
    v1::Fact fact;
    *fact.mutable_monitoring_fingerprint() = taken;
    story_.Say(fact, at);
  }
  void Gap(double at) {
    v1::Fact fact;
    fact.mutable_monitoring_gap()->set_source("prometheus");
    fact.mutable_monitoring_gap()->set_problem("read http://p/api/v1/query: no whole answer");
    story_.Say(fact, at);
  }
  Objective Judged(const std::string& name) {
    story_.End(17);
    const Verdict verdict = story_.Judged();
    answer_ = verdict.answer;
    for (const Objective& objective : verdict.objectives) {
      if (objective.name == name) return objective;
    }
    ADD_FAILURE() << "no objective " << name;
    return {};
  }

  Story story_;
  Answer answer_ = Answer::kFail;
};

TEST_F(Monitored, PassesWhatIsEqualBeforeAndAfter) {
  Say(Taken("before", {{"rule GpuXid", "aa"}, {"silence 7f", "bb"}}), -1);
  Say(Taken("after", {{"silence 7f", "bb"}, {"rule GpuXid", "aa"}}), 16.5);
  const Objective objective = Judged("monitoring_unchanged");
  EXPECT_EQ(objective.answer, Answer::kPass);
  EXPECT_EQ(objective.reason, "2 parts equal");
  EXPECT_EQ(answer_, Answer::kPass);
}

TEST_F(Monitored, FailsADifferenceAndNamesIt) {
  Say(Taken("before", {{"rule GpuXid", "aa"}, {"rule Gone", "cc"}}), -1);
  Say(Taken("after", {{"rule GpuXid", "ab"}, {"silence 7f", "bb"}}), 16.5);
  const Objective objective = Judged("monitoring_unchanged");
  EXPECT_EQ(objective.answer, Answer::kFail);
  EXPECT_THAT(objective.reason, HasSubstr("rule GpuXid was changed"));
  EXPECT_THAT(objective.reason, HasSubstr("rule Gone is gone"));
  EXPECT_THAT(objective.reason, HasSubstr("silence 7f was added"));
  EXPECT_EQ(answer_, Answer::kFail);
}

TEST_F(Monitored, LetsAlertmanagerForgetAnExpiredSilence) {
  v1::MonitoringFingerprint before = Taken("before", {{"silence 7f", "bb"}});
  before.mutable_parts(0)->set_may_vanish(true);
  Say(before, -1);
  Say(Taken("after", {}), 16.5);
  EXPECT_EQ(Judged("monitoring_unchanged").answer, Answer::kPass);
}

TEST_F(Monitored, CannotTellWithoutBoth) {
  Say(Taken("before", {{"rule GpuXid", "aa"}}), -1);
  const Objective objective = Judged("monitoring_unchanged");
  EXPECT_EQ(objective.answer, Answer::kInconclusive);
  EXPECT_THAT(objective.reason, HasSubstr("after the last trial"));
  EXPECT_EQ(answer_, Answer::kInconclusive);
}

TEST_F(Monitored, CannotTellWhatWasOutOfReachAfterwards) {
  Say(Taken("before", {{"rule GpuXid", "aa"}}), -1);
  v1::MonitoringFingerprint after = Taken("after", {});
  after.set_problem("read http://p/api/v1/rules: no whole answer");
  Say(after, 16.5);
  const Objective objective = Judged("monitoring_unchanged");
  EXPECT_EQ(objective.answer, Answer::kInconclusive);
  EXPECT_THAT(objective.reason, HasSubstr("no whole answer"));
}

TEST_F(Monitored, AGapInATrialIsNoPass) {
  Say(Taken("before", {{"rule GpuXid", "aa"}}), -1);
  Gap(3);
  Say(Taken("after", {{"rule GpuXid", "aa"}}), 16.5);
  const Objective objective = Judged("monitoring_answered");
  EXPECT_EQ(objective.answer, Answer::kInconclusive);
  EXPECT_THAT(objective.reason, HasSubstr("trial 1: prometheus: read http://p/api/v1/query"));
  EXPECT_EQ(answer_, Answer::kInconclusive);
}

TEST_F(Monitored, SlurmAloneHasNoRulesToCompareButMustAnswer) {
  story_.plan.mutable_pipeline()->mutable_spec()->clear_monitoring();
  story_.plan.mutable_pipeline()->mutable_spec()->mutable_slurm()->set_partition("shadow");
  Gap(3);
  EXPECT_EQ(Judged("monitoring_answered").answer, Answer::kInconclusive);
  for (const Objective& objective : story_.Judged().objectives) EXPECT_NE(objective.name, "monitoring_unchanged");
}

TEST(Unmonitored, IsNotAskedForAny) {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(10);
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17);
  for (const Objective& objective : story.Judged().objectives) {
    EXPECT_THAT(objective.name, ::testing::Not(HasSubstr("monitoring")));
  }
}

}  // namespace
}  // namespace triodrill
