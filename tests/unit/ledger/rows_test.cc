#include "reports/ledger/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/ledger/suspects.h"
#include "tests/unit/ledger/told.h"

namespace triodrill::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::chrono::milliseconds kSecond{1000};

TEST(Rows, ARunIsWhatItsTimelineSays) {
  Story story;
  TellDeath(story);
  story.Sham().Run(0.05, 12, 1001).End(12);
  const ToldRun told = Taken(story, {.run_id = "r7", .started = "2026-10-01T00:00:00Z", .release = "2.1"});
  const RunRow& run = told.run;
  EXPECT_EQ(run.run_id, "r7");
  EXPECT_EQ(run.drill, "told");
  EXPECT_EQ(run.pipeline, "torchrun");
  EXPECT_EQ(run.partition, "sandbox");
  EXPECT_EQ(run.release, "2.1");
  EXPECT_EQ(run.started, "2026-10-01T00:00:00Z");
  EXPECT_EQ(run.plan_digest, PlanDigest(story.plan));
  EXPECT_EQ(run.detection_deadline, Nanos(60 * kSecond));
  ASSERT_THAT(run.trials, SizeIs(2));
  const TrialRow& trial = run.trials[0];
  EXPECT_TRUE(trial.valid);
  ASSERT_TRUE(trial.detection.has_value());
  EXPECT_EQ(trial.detection->low, Nanos(std::chrono::microseconds(1'999'000)));
  EXPECT_EQ(*trial.detection->high, Nanos(std::chrono::microseconds(2'001'000)));
  EXPECT_EQ(trial.signal, "said-DETECTED");
  EXPECT_FALSE(trial.recovery->censored());
  EXPECT_TRUE(run.trials[1].sham);
  EXPECT_FALSE(run.trials[1].detection.has_value());
}

TEST(Rows, WhatWasNotSeenStaysCensored) {
  Story story;
  story.Trial().Pause("n1/0", "for", 20).Withdraw(20).Run(20.1, 40, 1001).End(61);
  const RunRow run = Taken(story).run;
  ASSERT_THAT(run.trials, SizeIs(1));
  ASSERT_TRUE(run.trials[0].detection.has_value());
  EXPECT_TRUE(run.trials[0].detection->censored());
  EXPECT_EQ(run.trials[0].detection->low, Nanos(60 * kSecond));
}

TEST(Rows, ConditionsAreTheSameWhateverWasExpectedAndHoweverOften) {
  Story one;
  TellDeath(one);
  Story other;
  *other.expect().mutable_recovery_time()->mutable_max() = Lasting(30);
  other.plan.mutable_drill()->mutable_spec()->mutable_trials()->set_faulted(9);
  TellDeath(other);
  EXPECT_EQ(Taken(one).run.conditions, Taken(other).run.conditions);
  Story elsewhere;
  elsewhere.plan.mutable_partition()->mutable_spec()->mutable_environment()->set_scale("9 nodes");
  TellDeath(elsewhere);
  const ToldRun told = Taken(elsewhere);
  EXPECT_NE(Taken(one).run.conditions, told.run.conditions);
  EXPECT_EQ(told.conditions.at("partition.environment.scale"), "9 nodes");
}

TEST(Rows, RefusesWhatCannotBeToldApartOrDated) {
  Story story;
  TellDeath(story);
  const auto why = [&](const Told& told) { return std::string(TakenFrom(LoadedFrom(story, told)).status().message()); };
  EXPECT_EQ(why({}), "");
  EXPECT_THAT(why({.run_id = ""}), HasSubstr("names no run"));
  EXPECT_THAT(why({.started = "29 November"}), HasSubstr("in UTC"));
  LoadedBundle cut = LoadedFrom(story);
  cut.complete = false;
  cut.problem = "the file INCOMPLETE is still there";
  EXPECT_THAT(std::string(TakenFrom(cut).status().message()), HasSubstr("INCOMPLETE is still there"));
}

TEST(Suspects, KnowWhatSpeaksOfSilentCorruption) {
  EXPECT_TRUE(SaysSdc("sdc-ledger", ""));
  EXPECT_TRUE(SaysSdc("detected", "detected slot=n2/0 fault=sdc by=replay"));
  EXPECT_TRUE(SaysSdc("detected", "Silent Data Corruption on n2"));
  EXPECT_FALSE(SaysSdc("detected", "mount /dev/sdc1 sdcard gsdc: fault=dead"));
  EXPECT_FALSE(SaysSdc("step", "step=12"));
}

TEST(Suspects, AChangedTensorIsAnEntryWithItsMeansOfDetection) {
  Story story;
  story.Trial().Broken("tensor.flip", "n2/0").Signal(2, v1::DETECTED, "n2/0").Run(2.5, 16, 1001).End(17);
  const RunRow run = Taken(story).run;
  ASSERT_THAT(run.sdc, SizeIs(1));
  const SdcRow& row = run.sdc[0];
  EXPECT_EQ(row.slot, "n2/0");
  EXPECT_EQ(row.changed, "tensor.flip");
  EXPECT_EQ(row.outcome, "detected");
  EXPECT_EQ(row.named, "faulted");
  EXPECT_EQ(row.signal, "said-DETECTED");
  EXPECT_EQ(row.source, "log run/n0.err:118");
  EXPECT_THAT(row.parameters, HasSubstr("tensor_flip"));
  EXPECT_EQ(*row.latency, *run.trials[0].detection);
  EXPECT_THAT(row.fleet_wide,
              HasSubstr("of sandbox (n0, n1, n2): `triodrill run told.yaml --pipeline torchrun --trials 59`"));
  EXPECT_THAT(row.co_located, HasSubstr("nodes: [n2]}, of which the trials on n2/0 count"));
}

TEST(Suspects, AChangeThatNobodySawIsMissed) {
  Story story;
  story.Trial().Broken("collective.corrupt", "n1/0").Run(0.1, 61, 1001).End(62);
  const RunRow run = Taken(story).run;
  ASSERT_THAT(run.sdc, SizeIs(1));
  EXPECT_EQ(run.sdc[0].outcome, "missed");
  EXPECT_EQ(run.sdc[0].signal, "");
  EXPECT_TRUE(run.sdc[0].latency->censored());
}

TEST(Suspects, AnInvalidTrialCountsForNothing) {
  Story story;
  story.Trial().Broken("tensor.nan", "n1/0").Run(0.1, 12, 1001).End(13, false, "the baseline was not steady");
  const RunRow run = Taken(story).run;
  ASSERT_THAT(run.sdc, SizeIs(1));
  EXPECT_EQ(run.sdc[0].outcome, "not_valid");
  EXPECT_THAT(run.served, SizeIs(0));
}

TEST(Suspects, WhoeverIsNamedWithoutAChangeIsASuspect) {
  Story story;
  story.Trial().Broken("tensor.flip", "n2/0");
  story.Say(Report(v1::NOTE, "sdc-ledger", "n2/0", "sdc_ledger slot=n2/0"), 1.9);   // whose data was changed
  story.Say(Report(v1::NOTE, "sdc-ledger", "n1/0", "sdc_ledger slot=n1/0"), 2.0);   // whose was not
  story.Say(Report(v1::DETECTED, "detected", "n1/0", "detected fault=sdc"), 2.1);   // the pipeline stands for it
  story.Say(Report(v1::DETECTED, "detected", "n0/0", "detected fault=dead"), 2.2);  // of something else
  story.Run(2.5, 16, 1001).End(17);
  story.Sham().Run(0.05, 5, 1001);
  story.Say(Report(v1::DETECTED, "detected", "n1/0", "detected fault=sdc"), 5.1).Run(5.2, 12, 1060).End(12);
  const RunRow run = Taken(story).run;
  ASSERT_THAT(run.sdc, SizeIs(3));
  EXPECT_EQ(run.sdc[0].changed, "tensor.flip");
  const SdcRow& first = run.sdc[1];
  EXPECT_EQ(first.slot, "n1/0");
  EXPECT_EQ(first.trial, 1);
  EXPECT_FALSE(first.injected());
  EXPECT_EQ(first.outcome, "reported");
  EXPECT_EQ(first.signal, "detected");
  EXPECT_EQ(first.reports, 2);
  EXPECT_EQ(first.source, "log run/pipeline.log:7");
  EXPECT_THAT(first.fleet_wide, HasSubstr("`triodrill run no-fault.yaml --pipeline torchrun --sham 59`"));
  EXPECT_THAT(first.co_located, HasSubstr("with n1/0 serving"));
  EXPECT_EQ(run.sdc[2].trial, 2);
  EXPECT_EQ(run.sdc[2].slot, "n1/0");
}

TEST(Suspects, BetweenTrialsTheyAreKeptToo) {
  Story story;
  TellDeath(story);
  story.RunEnds("finished");
  LoadedBundle bundle = LoadedFrom(story);
  v1::Fact fact = Report(v1::DETECTED, "detected", "n1", "node n1: silent data corruption");
  *fact.mutable_at() = bundle.timeline.facts.back().at();
  bundle.timeline.facts.insert(bundle.timeline.facts.end() - 1, fact);
  const RunRow run = TakenFrom(bundle)->run;
  ASSERT_THAT(run.sdc, SizeIs(1));
  EXPECT_EQ(run.sdc[0].trial, 0);
  EXPECT_EQ(run.sdc[0].slot, "n1");
  EXPECT_FALSE(run.sdc[0].valid);
}

TEST(Suspects, TrialsAreCountedInWhichASlotHadAPart) {
  Story story;
  TellDeath(story);
  TellDeath(story);
  const RunRow run = Taken(story).run;
  EXPECT_THAT(run.served, ElementsAre(ServedRow{"n0", 2}, ServedRow{"n0/0", 2}, ServedRow{"n1", 2},
                                      ServedRow{"n1/0", 2}, ServedRow{"n2", 2}, ServedRow{"n2/0", 2}));
}

TEST(Words, AreOneVisibleLine) {
  EXPECT_TRUE(CheckText("--release", "2.1 (Übung) =x \\ \"", 100).ok());
  for (const std::string& wrong :
       {std::string("a\nb"), std::string("\x1b[31m"), std::string("\xff"), std::string("a\0b", 3),
        std::string("\xE2\x80\xAE"
                    "abc"),
        std::string("tab\there"), std::string(101, 'x')}) {
    EXPECT_FALSE(CheckText("--release", wrong, 100).ok()) << wrong;
  }
}

}  // namespace
}  // namespace triodrill::ledger
