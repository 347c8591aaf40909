#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nlohmann/json.hpp"
#include "reports/evidence/derive.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "reports/render/number.h"
#include "reports/render/terminal.h"
#include "reports/render/verdict_json.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Span Between(int64_t min_ns, int64_t max_ns) { return {Nanos(min_ns), Nanos(max_ns)}; }

TEST(Number, NeverNarrowsAnInterval) {
  EXPECT_EQ(SpanText(Between(410'999'999, 411'000'001)), "0.410~0.412 s");
  EXPECT_EQ(SpanText(Between(4'100'000'000, 4'300'000'000)), "4.100~4.300 s");
  EXPECT_EQ(SpanText(Between(2'000'000'000, 2'000'000'000)), "2.000 s");
  EXPECT_EQ(SpanText(Between(3'149'999, 4'110'000)), "3.1~4.2 ms");
  EXPECT_EQ(SpanText(Between(0, 99'999'999)), "0.0~100.0 ms");
  EXPECT_EQ(SpanText(Between(0, 0)), "0.0 ms");
}

TEST(Number, HasItsUnitAndNoBlankBeforeThePercentSign) {
  EXPECT_EQ(SecondsText(Nanos(59'999'999'999)), "59.999 s");
  EXPECT_EQ(BoundText(Nanos(10'000'000'000)), "10 s");
  EXPECT_EQ(BoundText(Nanos(500'000'000)), "0.5 s");
  EXPECT_EQ(WidthText(Nanos(999'001)), "1000 us");
  EXPECT_EQ(WidthText(Nanos(1'000'001)), "1.1 ms");
  EXPECT_EQ(PercentText(0.947), "94.7%");
  EXPECT_EQ(PercentText(1), "100%");
  EXPECT_EQ(PercentText(0), "0%");
  EXPECT_EQ(RatioText(2.0 / 3), "0.667");
  EXPECT_EQ(CountText(1, "step", "steps"), "1 step");
  EXPECT_EQ(CountText(0, "step", "steps"), "0 steps");
}

TEST(PlainText, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(PlainText("\x1b[31mred\x1b[0m\nnext\r\x07"), "\\x1b[31mred\\x1b[0m\\nnext\\r\\x07");
  EXPECT_EQ(PlainText("\xC2\x9B"
                      "31m"),
            "\\x9b31m")
      << "the one-byte CSI of the C1 set";
  EXPECT_EQ(PlainText("a\xE2\x80\xAE"
                      "b"),
            "a\\u{202e}b")
      << "right-to-left override";
  EXPECT_EQ(PlainText("a\xFF\xC0\xAF"), "a\\xff\\xc0\\xaf") << "not UTF-8";
  EXPECT_EQ(PlainText("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F") << "letters stay letters";
}

TEST(PlainText, CutsWhatIsTooLongAtALetter) {
  EXPECT_EQ(PlainText("abcdef", 3), "abc...");
  EXPECT_EQ(PlainText("ab\xC3\xBC", 3), "ab...");
}

TEST(MarkdownText, LeavesNoMarkup) {
  EXPECT_EQ(MarkdownText("<script>|`x`|*b*[l](u)"), "&lt;script&gt;\\|\\`x\\`\\|\\*b\\*\\[l\\](u)");
  EXPECT_EQ(MarkdownText("# title"), "\\# title");
  EXPECT_EQ(MarkdownText("_em_ and steps_lost"), "\\_em\\_ and steps_lost");
  EXPECT_EQ(MarkdownText("1~2 s, 3~4 s"), "1\\~2 s, 3\\~4 s") << "two tildes would strike out what is between";
  EXPECT_EQ(MarkdownText("a\nb"), "a\\\\nb");
}

TEST(MarkdownText, MakesNoLinkOfAnAddress) {
  EXPECT_EQ(MarkdownText("https://x www.x.y a@b.c"), "https&#58;//x www&#46;x.y a&#64;b.c");
  EXPECT_EQ(MarkdownText("FAIL kill: 2 of 3"), "FAIL kill: 2 of 3");
}

TEST(JsonText, WritesDecimalsWithoutExponentsAndKeepsTheOrder) {
  const nlohmann::ordered_json tree = {{"z", 1e-9}, {"a", 1.0}, {"m", 0.41}, {"big", 123456.5}, {"n", nullptr}};
  EXPECT_EQ(JsonText({{"tree", tree}}),
            "{\n  \"tree\": {\"z\": 0.000000001, \"a\": 1.0, \"m\": 0.41, \"big\": 123456.5, \"n\": null}\n}\n");
}

TEST(JsonText, IsReadByAnyParser) {
  nlohmann::ordered_json tree;
  tree["text"] = "quote \" back \\ line \n end";
  tree["list"] = nlohmann::ordered_json::array();
  for (int i = 0; i < 40; ++i) tree["list"].push_back(i);
  EXPECT_EQ(nlohmann::ordered_json::parse(JsonText(tree)), tree);
}

constexpr const char* kHostile = "\x1b]0;owned\x07</td><script>alert(1)</script>\n# PASS | `x` \xE2\x80\xAE";

// Everything that others write is hostile here.
Derived HostileRun(Story& story) {
  story.plan.mutable_partition()->mutable_metadata()->set_name(kHostile);
  story.plan.mutable_partition()->mutable_spec()->add_differences(kHostile);
  v1::Substitution& used = *story.plan.add_substitutions();
  used.set_wanted("cpu.throttle");
  used.set_used("cpu.stutter");
  used.set_reason(kHostile);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.Trial().LinkDown("n2", "for", 5);
  v1::Fact fact;
  fact.mutable_signal()->set_means(v1::DETECTED);
  fact.mutable_signal()->set_raw(kHostile);
  fact.mutable_signal()->set_source(kHostile);
  fact.mutable_signal()->set_signal(kHostile);
  story.Say(fact, 1);
  fact.mutable_signal()->set_named(kHostile);
  story.Say(fact, 2);
  fact.mutable_signal()->set_means(v1::SYMPTOM);
  story.Say(fact, 3);
  v1::Fact reverted;
  reverted.mutable_reverted()->set_shot("1.fault.0");
  reverted.mutable_reverted()->set_problem(kHostile);
  reverted.mutable_reverted()->set_by_hand(kHostile);
  story.Say(reverted, 5).Run(6, 20, 1001).End(21, false, kHostile).RunEnds("broken", kHostile);
  return Derive(story.plan, story.Told());
}

bool HasControls(const std::string& text, const std::string& allowed) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && allowed.find(c) == std::string::npos;
  });
}

TEST(Markdown, EscapesWhateverOthersWrote) {
  Story story;
  const std::string report = HostileRun(story).report_md;
  EXPECT_FALSE(HasControls(report, "\n"));
  EXPECT_THAT(report, Not(HasSubstr("<script>")));
  EXPECT_THAT(report, Not(HasSubstr("\n# PASS")));
  EXPECT_THAT(report, Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_THAT(report, StartsWith("# FAIL told"));
}

TEST(TerminalReport, EscapesWhateverOthersWrote) {
  Story story;
  const Derived derived = HostileRun(story);
  const std::string report = TerminalReport(story.plan, derived.trio, derived.verdict, kHostile, {.colour = false});
  EXPECT_FALSE(HasControls(report, "\n"));
  EXPECT_THAT(report, Not(HasSubstr("\n# PASS")));
  EXPECT_THAT(report, StartsWith("FAIL told"));
}

TEST(Json, OfAHostileRunIsSound) {
  Story story;
  const Derived derived = HostileRun(story);
  const auto trio = nlohmann::ordered_json::parse(derived.trio_json);
  EXPECT_EQ(trio["trials"][0]["first_report"]["source"], kHostile);
  EXPECT_EQ(nlohmann::ordered_json::parse(derived.verdict_json)["exit_code"], 5);
  EXPECT_EQ(std::count(derived.trio_json.begin(), derived.trio_json.end(), '\x1b'), 0);
}

TEST(TerminalReport, ColoursTheVerdictAlone) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.Trial().Kill("n2/0").Restart(2).Restored(5, 990).Run(5.5, 16, 991).End(17);
  const Derived derived = Derive(story.plan, story.Told());
  const std::string plain = TerminalReport(story.plan, derived.trio, derived.verdict, "out", {.colour = false});
  const std::string coloured = TerminalReport(story.plan, derived.trio, derived.verdict, "out", {.colour = true});
  EXPECT_THAT(plain, StartsWith("PASS told: 2 of 2 objectives passed"));
  EXPECT_THAT(coloured, StartsWith("\x1b[1;32mPASS\x1b[0m told: "));
  EXPECT_THAT(plain, HasSubstr("evidence: out"));
}

TEST(Markdown, SaysWhatTheFiguresAreGoodFor) {
  Story story;
  story.plan.mutable_partition()->mutable_spec()->mutable_environment()->add_simulated("accelerator");
  story.plan.mutable_partition()->mutable_spec()->add_differences("the data network is a bridge");
  v1::Floor& floor = *story.plan.mutable_pipeline()->mutable_spec()->add_floors();
  floor.set_fault("cpu.stutter");
  floor.set_expected("no straggler detection");
  floor.set_source("measured, A");
  v1::Substitution& used = *story.plan.add_substitutions();
  used.set_wanted("cpu.throttle");
  used.set_used("cpu.stutter");
  used.set_reason("cgroups cannot be written");
  story.Trial().Throttle("n2/0", "until", 20).Run(0.1, 20, 1001, 6).Withdraw(20).Run(20.1, 40, 1121).End(41);
  const std::string report = Derive(story.plan, story.Told()).report_md;
  EXPECT_THAT(report, HasSubstr("simulated accelerator"));
  EXPECT_THAT(report, HasSubstr("cpu.stutter was used instead of cpu.throttle because cgroups cannot be written"));
  EXPECT_THAT(report, HasSubstr("the data network is a bridge"));
  EXPECT_THAT(report, HasSubstr("cpu.stutter: no straggler detection"));
  EXPECT_THAT(report, HasSubstr("mechanism"));
  EXPECT_THAT(report, HasSubstr("P(pass)"));
}

TEST(RunJson, IsOneObjectWithVerdictAndTrio) {
  Story story;
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.Trial().Kill("n2/0").Signal(2, v1::DETECTED, "n2/0").Restart(2).Restored(5, 990).Run(5.5, 16, 991).End(17);
  const Derived derived = Derive(story.plan, story.Told());
  const auto run = nlohmann::ordered_json::parse(RunJson(derived.verdict, derived.trio, "out/bundle"));
  EXPECT_EQ(run["exit_code"], 0);
  EXPECT_EQ(run["bundle"], "out/bundle");
  EXPECT_EQ(run["verdict"]["verdict"], "PASS");
  const auto& trial = run["trio"]["trials"][0];
  EXPECT_EQ(trial["interruption"]["level"], "job");
  EXPECT_EQ(trial["isolation"]["level"], "none");
  EXPECT_EQ(trial["isolation"]["precision"], nullptr);
  EXPECT_EQ(trial["detection_latency"]["named"], "faulted");
  EXPECT_LT(trial["recovery_time"]["min_s"], trial["recovery_time"]["max_s"]);
}

TEST(Derive, IsAFunctionOfPlanAndFacts) {
  Story one;
  Story two;
  EXPECT_EQ(HostileRun(one).trio_json, HostileRun(two).trio_json);
}

}  // namespace
}  // namespace triodrill
