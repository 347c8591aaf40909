// What CI systems are given: JUnit XML and SARIF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "reports/evidence/derive.h"
#include "reports/render/junit.h"
#include "reports/render/sarif.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kHostile = "\x1b]0;x\x07]]></failure><script>alert('1')</script>\" x=\"\xff\xef\xbf\xbf";

// A rank is killed, found, and the job is steady again after 5.5 s: well within one bound, beyond another.
class Ci : public ::testing::Test {
 protected:
  Ci() {
    story_.plan.mutable_drill()->mutable_metadata()->set_name("kill-one-rank");
    *story_.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
    story_.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991);
    story_.End(17);
  }
  void AllowDetectionWithin(double seconds) {
    *story_.expect().mutable_detection_latency()->mutable_max() = Lasting(seconds);
  }
  std::string JUnitText() {
    Derive();
    return JUnit({run_});
  }
  Json SarifRun() {
    Derive();
    return Json::parse(Sarif({run_})).at("runs").at(0);
  }

  Story story_;
  Reported run_{};

 private:
  void Derive() {
    told_ = story_.Told();
    derived_ = triodrill::Derive(story_.plan, told_);
    run_.plan = &story_.plan;
    run_.timeline = &told_;
    run_.trio = &derived_.trio;
    run_.verdict = &derived_.verdict;
    if (run_.bundle.empty()) run_.bundle = "out/kill one";
  }

  Timeline told_;
  Derived derived_;
};

TEST_F(Ci, APassedRunIsASuiteWithoutFailures) {
  AllowDetectionWithin(10);
  const std::string text = JUnitText();
  EXPECT_THAT(text, HasSubstr("name=\"kill-one-rank\" tests=\"4\" failures=\"0\" errors=\"0\""));
  EXPECT_THAT(text, HasSubstr("<testcase name=\"detection_latency\" classname=\"kill-one-rank\" time=\"0.000\"/>"));
  EXPECT_THAT(text, Not(HasSubstr("<failure")));
  EXPECT_TRUE(SarifRun().at("results").empty());
}

TEST_F(Ci, AMissedObjectiveIsAFailureWithItsReason) {
  AllowDetectionWithin(2);
  const std::string text = JUnitText();
  EXPECT_THAT(text, HasSubstr("failures=\"1\" errors=\"0\""));
  EXPECT_THAT(text, HasSubstr("<failure type=\"FAIL\" message=\""));
  EXPECT_THAT(text, HasSubstr("expected: at most 2 s\n"));
  EXPECT_THAT(text, HasSubstr("trial 1: FAIL: "));
}

TEST_F(Ci, WhatCannotBeDecidedIsAnErrorAndNoPass) {
  story_.plan.add_trials()->set_number(2);  // planned, and never begun
  const std::string text = JUnitText();
  EXPECT_THAT(text, HasSubstr("failures=\"0\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("<error type=\"INCONCLUSIVE\""));
  const Json results = SarifRun().at("results");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("kind"), "open");
  EXPECT_EQ(results[0].at("level"), "none");
}

TEST_F(Ci, ARunThatDidNotFinishIsAnErrorOfItself) {
  story_.RunEnds("aborted", "asked for by a person");
  const std::string text = JUnitText();
  EXPECT_THAT(text, HasSubstr("message=\"the run is aborted: asked for by a person\""));
  const Json invocation = SarifRun().at("invocations").at(0);
  EXPECT_EQ(invocation.at("executionSuccessful"), false);
  EXPECT_EQ(invocation.at("exitCode"), 4);
  EXPECT_FALSE(invocation.at("toolExecutionNotifications").empty());
}

TEST_F(Ci, AnUndoThatIsNotConfirmedIsAFailureWhateverWasMeasured) {
  Story story;
  story.Trial().Pause("n2/0", "for", 5).Signal(2.1, v1::DETECTED, "n2/0").Withdraw(5, false).Run(5.5, 16, 1001).End(17);
  const Timeline told = story.Told();
  const triodrill::Derived derived = triodrill::Derive(story.plan, told);
  const Reported run{&story.plan, &told, &derived.trio, &derived.verdict, "b", ""};
  EXPECT_THAT(JUnit({run}), HasSubstr("<failure type=\"FAIL\" message=\"an undo is not confirmed"));
}

TEST_F(Ci, SarifPointsAtTheLineThatAsked) {
  AllowDetectionWithin(2);
  run_.drill_yaml =
      "apiVersion: triodrill/v1\nkind: Drill\nmetadata: {name: kill-one-rank}\nspec:\n  expect:\n"
      "    recovery_time: {max: 90s}\n    detection_latency: {max: 2s}\n";
  const Json run = SarifRun();
  ASSERT_EQ(run.at("results").size(), 1u);
  const Json& result = run.at("results")[0];
  EXPECT_EQ(result.at("ruleId"), "detection_latency");
  EXPECT_EQ(run.at("tool").at("driver").at("rules").at(result.at("ruleIndex").get<size_t>()).at("id"),
            "detection_latency");
  const Json& place = result.at("locations")[0].at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "out/kill%20one/inputs/drill.yaml");
  EXPECT_EQ(place.at("region").at("startLine"), 7);
  EXPECT_EQ(result.at("partialFingerprints").at("objective/v1"), "kill-one-rank/detection_latency");
}

TEST_F(Ci, SarifKnowsNoLineWhereTheDrillIsNotKept) {
  AllowDetectionWithin(2);
  run_.bundle = "/var/lib/b";
  const Json place = SarifRun().at("results").at(0).at("locations")[0].at("physicalLocation");
  EXPECT_FALSE(place.contains("region"));
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "file:///var/lib/b/inputs/drill.yaml");
}

TEST_F(Ci, SeveralRunsAreSuitesAndRunsOfTheirOwn) {
  AllowDetectionWithin(2);
  JUnitText();
  EXPECT_THAT(JUnit({run_, run_}), HasSubstr("<testsuite id=\"1\""));
  EXPECT_EQ(Json::parse(Sarif({run_, run_})).at("runs").size(), 2u);
}

TEST_F(Ci, HostileStringsAreShownAndNeverMarkup) {
  story_.plan.mutable_drill()->mutable_metadata()->set_name(kHostile);
  story_.RunEnds("broken", kHostile);
  const std::string text = JUnitText();
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
  EXPECT_THAT(text, Not(HasSubstr("\xef\xbf\xbf")));
  const Json run = SarifRun();
  EXPECT_THAT(run.at("properties").at("headline").get<std::string>(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace triodrill
