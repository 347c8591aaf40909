// The shipped profile of a monitored pipeline, beside its rules and beside the pipeline that it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "coordinator/load/load.h"
#include "coordinator/load/read.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

std::string Shipped(const std::string& file) {
  std::vector<Diagnostic> problems;
  return ReadYamlFile(std::string(TRIODRILL_SOURCE_DIR "/drills/pipelines/") + file, problems).value_or("");
}

v1::PipelineSpec Profile(const std::string& name) {
  std::vector<Diagnostic> problems;
  v1::PipelineSpec spec = LoadPipeline(Shipped(name + ".yaml"), name, problems).message.spec();
  EXPECT_TRUE(problems.empty()) << problems.front().Text();
  return spec;
}

TEST(MonitoringProfile, ListensForAlertsThatItsRulesRaise) {
  const std::string rules = Shipped("prometheus-alertmanager.rules.yml");
  const v1::PipelineSpec profile = Profile("prometheus-alertmanager");
  int alerts = 0;
  for (const v1::Signal& signal : profile.signals()) {
    for (const std::string& alert : {signal.alertmanager_webhook().alert(), signal.alertmanager().alert()}) {
      if (alert.empty()) continue;
      ++alerts;
      EXPECT_THAT(rules, HasSubstr(absl::StrCat("- alert: ", alert, "\n"))) << signal.id();
    }
  }
  EXPECT_EQ(alerts, 3);
}

TEST(MonitoringProfile, IsTheReferencePipelineWhoseOwnReportsAreNotes) {
  std::map<std::string, v1::Signal> signals;
  const v1::PipelineSpec monitored = Profile("prometheus-alertmanager");
  for (const v1::Signal& signal : monitored.signals()) signals[signal.id()] = signal;
  const v1::PipelineSpec reference = Profile("reference");
  for (v1::Signal expected : reference.signals()) {
    if (expected.means() == v1::DETECTED) {
      expected.set_id(absl::StrCat("log-", expected.id()));
      expected.set_means(v1::NOTE);
    }
    ASSERT_TRUE(signals.contains(expected.id())) << expected.id();
    EXPECT_EQ(signals.at(expected.id()).SerializeAsString(), expected.SerializeAsString()) << expected.id();
  }
}

TEST(MonitoringProfile, AProfileWithoutMonitoringGetsNone) {
  EXPECT_FALSE(Profile("reference").has_monitoring());
  EXPECT_TRUE(Profile("prometheus-alertmanager").has_monitoring());
}

}  // namespace
}  // namespace triodrill
