#include "reports/render/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "reports/evidence/derive.h"
#include "reports/render/escape.h"
#include "reports/render/lanes.h"
#include "tests/unit/reports/story.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kHostile = "\x1b]0;x\x07</title></text></svg><script>alert('1')</script>\" onload=\"x";

constexpr Nanos Ms(int64_t ms) { return std::chrono::milliseconds(ms); }

// A rank is killed, everybody starts anew, and the job is steady again.
void TellKill(Story& story) {
  *story.expect().mutable_recovery_time()->mutable_max() = ToProto(std::chrono::seconds(90));
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17);
}

TrialLanes Lanes(Story& story) {
  const Timeline told = story.Told();
  const Trio trio = Derive(story.plan, told).trio;
  const std::vector<TrialFacts> facts = SplitTrials(story.plan, told);
  const auto lanes = LanesOf(story.plan, facts.back(), trio.trials.back());
  EXPECT_TRUE(lanes.has_value());
  return lanes.value_or(TrialLanes{});
}

std::string Page(const Story& story, const Timeline& told, const Derived& derived, const std::string& bundle = "b") {
  return Html({{&story.plan, &told, &derived.trio, &derived.verdict, bundle}});
}

// Every element that is opened is closed, in order; void elements of HTML and empty ones of SVG apart.
testing::AssertionResult WellFormed(const std::string& page) {
  static const RE2 kTag(R"re(<(/?)([a-zA-Z0-9]+)(?:[^<>"]|"[^"]*")*?(/?)>)re");
  static const std::set<std::string> empty{"meta", "link", "br"};
  std::vector<std::string> open;
  re2::StringPiece rest(page);
  std::string closes, name, alone;
  while (RE2::FindAndConsume(&rest, kTag, &closes, &name, &alone)) {
    if (!alone.empty() || empty.contains(name)) continue;
    if (closes.empty()) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return testing::AssertionFailure() << "</" << name << "> closes <" << (open.empty() ? "" : open.back()) << ">";
    } else {
      open.pop_back();
    }
  }
  if (!open.empty()) return testing::AssertionFailure() << "<" << open.back() << "> stays open";
  return testing::AssertionSuccess();
}

TEST(Lanes, ShowWhoWorkedWhen) {
  Story story;
  TellKill(story);
  const TrialLanes lanes = Lanes(story);
  ASSERT_THAT(lanes.lanes, SizeIs(3));
  EXPECT_EQ(lanes.lanes[2].slot, "n2/0");
  for (const Lane& lane : lanes.lanes) {
    ASSERT_THAT(lane.working, SizeIs(2)) << lane.slot << ": before the fault and from the resumption on";
    EXPECT_LT(lane.working[0].to, Ms(1));
    EXPECT_GE(lane.working[1].from, Ms(5400));
    EXPECT_THAT(lane.appeared, SizeIs(1));
  }
}

TEST(Lanes, HoldAFaultThatIsNotWithdrawnToTheEndOnItsSlotAlone) {
  Story story;
  TellKill(story);
  const TrialLanes lanes = Lanes(story);
  EXPECT_TRUE(lanes.lanes[0].faulted.empty());
  ASSERT_THAT(lanes.lanes[2].faulted, SizeIs(1));
  EXPECT_EQ(lanes.lanes[2].faulted[0].to, lanes.shown.to);
}

TEST(Lanes, HoldALinksFaultOnEverySlotOfItsNodeUntilItWasSeenGone) {
  Story story;
  story.Nodes(2, 2);
  story.Trial().LinkDown("n1", "for", 5).Withdraw(5).Run(6, 20, 1001).End(21);
  const TrialLanes lanes = Lanes(story);
  ASSERT_THAT(lanes.lanes, SizeIs(4));
  EXPECT_TRUE(lanes.lanes[1].faulted.empty());
  for (const size_t slot : {2, 3}) {
    ASSERT_THAT(lanes.lanes[slot].faulted, SizeIs(1)) << slot;
    EXPECT_NEAR(static_cast<double>(lanes.lanes[slot].faulted[0].to.count()), 5e9, 2e6);
  }
}

TEST(Lanes, PutMilestonesInTheOrderOfTheirTimes) {
  Story story;
  TellKill(story);
  std::vector<std::string> names;
  for (const Milestone& milestone : Lanes(story).milestones) names.push_back(milestone.name);
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "fault landed");
  EXPECT_EQ(names[1], "detected");
  EXPECT_EQ(names.back(), "steady");
}

TEST(Lanes, TellTheRateAndThatThereWasNone) {
  Story story;
  TellKill(story);
  const TrialLanes lanes = Lanes(story);
  ASSERT_GT(lanes.rate.width.count(), 0);
  const auto at = [&](double seconds) {
    const auto i =
        static_cast<size_t>((Nanos(static_cast<int64_t>(seconds * 1e9)) - lanes.shown.from) / lanes.rate.width);
    return i < lanes.rate.steps_per_s.size() ? lanes.rate.steps_per_s[i] : -1;
  };
  EXPECT_EQ(at(3), 0);
  EXPECT_NEAR(at(-1), 10, 5.1) << "a part holds two or three steps";
}

TEST(Lanes, AreNoneWhereNothingLanded) {
  Story story;
  story.Trial().Armed("process.kill", "n2/0").Fail("land", "never seen").End(3, false, "no landing");
  const Timeline told = story.Told();
  const Trio trio = Derive(story.plan, told).trio;
  EXPECT_FALSE(LanesOf(story.plan, SplitTrials(story.plan, told)[0], trio.trials[0]).has_value());
}

TEST(Html, DecidesFirstAndShowsEachTrial) {
  Story story;
  TellKill(story);
  const Timeline told = story.Told();
  const Derived derived = Derive(story.plan, told);
  const std::string page = Page(story, told, derived);
  EXPECT_TRUE(WellFormed(page));
  const size_t verdict = page.find(Name(derived.verdict.answer), page.find("<main>"));
  EXPECT_LT(verdict, page.find("<table>"));
  EXPECT_THAT(page, HasSubstr("<svg viewBox"));
  EXPECT_THAT(page, HasSubstr("Trial 1"));
  EXPECT_THAT(page, HasSubstr("n2/0<small>faulted"));
}

TEST(Html, NeedsNothingFromAnywhere) {
  Story story;
  TellKill(story);
  const Timeline told = story.Told();
  const std::string page = Page(story, told, Derive(story.plan, told));
  for (const char* fetched : {"http:", "https:", "src=", "<script", "@import", "<link", "url(http"}) {
    EXPECT_THAT(page, Not(HasSubstr(fetched)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, EscapesWhateverOthersWrote) {
  Story story;
  story.plan.mutable_partition()->mutable_metadata()->set_name(kHostile);
  story.plan.mutable_partition()->mutable_spec()->add_differences(kHostile);
  story.plan.mutable_drill()->mutable_metadata()->set_question(kHostile);
  *story.expect().mutable_recovery_time()->mutable_max() = ToProto(std::chrono::seconds(90));
  story.Trial().LinkDown("n2", "for", 5);
  v1::Fact fact;
  fact.mutable_signal()->set_means(v1::DETECTED);
  fact.mutable_signal()->set_raw(kHostile);
  fact.mutable_signal()->set_source(kHostile);
  fact.mutable_signal()->set_signal(kHostile);
  story.Say(fact, 1);
  fact.mutable_signal()->set_named(kHostile);
  story.Say(fact, 2);
  v1::Fact progress;
  progress.mutable_progress()->set_slot(kHostile);
  story.Say(progress, 3);
  v1::Fact ended;
  ended.mutable_process()->set_slot(kHostile);
  story.Say(ended, 3.5).Run(6, 20, 1003).End(21, false, kHostile).RunEnds("broken", kHostile);
  const Timeline told = story.Told();
  const std::string page = Page(story, told, Derive(story.plan, told), kHostile);
  EXPECT_TRUE(WellFormed(page));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("\" onload")));
  EXPECT_EQ(std::count(page.begin(), page.end(), '\x1b'), 0);
}

TEST(Html, OfSeveralRunsBeginsWithATableOfThem) {
  Story pass;
  pass.plan.mutable_drill()->mutable_metadata()->set_category(v1::SOFTWARE);
  TellKill(pass);
  Story fail;
  fail.plan.mutable_drill()->mutable_metadata()->set_category(v1::SOFTWARE);
  *fail.expect().mutable_recovery_time()->mutable_max() = ToProto(std::chrono::seconds(1));
  fail.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, 16, 991).End(17);
  const Timeline told[] = {pass.Told(), fail.Told()};
  const Derived derived[] = {Derive(pass.plan, told[0]), Derive(fail.plan, told[1])};
  ASSERT_EQ(derived[0].verdict.answer, Answer::kPass);
  ASSERT_EQ(derived[1].verdict.answer, Answer::kFail);
  const std::string page = Html({{&pass.plan, &told[0], &derived[0].trio, &derived[0].verdict, "a"},
                                 {&fail.plan, &told[1], &derived[1].trio, &derived[1].verdict, "b"}});
  EXPECT_TRUE(WellFormed(page));
  EXPECT_THAT(page, HasSubstr("</span>: 1 of 2 drills passed</h1>"));
  EXPECT_LT(page.find("1 of 2 drills passed"), page.find("id=\"drill-1\""));
  EXPECT_LT(page.find("href=\"#drill-2\""), page.find("id=\"drill-1\""));
  EXPECT_THAT(page, HasSubstr("software</th><td>2</td><td>1</td><td>1</td><td>0</td>"));
  EXPECT_THAT(page, HasSubstr("data</th><td>none: not drilled</td>"));
  EXPECT_NE(page.find("id=\"d1-t1-title\""), page.find("id=\"d2-t1-title\"")) << "names of pictures are unique";
}

TEST(HtmlText, LeavesNoMarkup) {
  EXPECT_EQ(HtmlText("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  EXPECT_EQ(HtmlText("a\nb\x1b"), "a\\nb\\x1b");
}

}  // namespace
}  // namespace triodrill
