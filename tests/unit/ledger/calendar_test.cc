#include "reports/ledger/calendar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::ledger {
namespace {

using ::testing::HasSubstr;

TEST(Calendar, ReadsAQuarterAndNothingElse) {
  EXPECT_EQ(*ParseQuarter("2026Q4"), (Quarter{2026, 4}));
  EXPECT_EQ(QuarterName({2026, 1}), "2026Q1");
  for (const char* wrong :
       {"", "2026", "2026Q0", "2026Q5", "2026Q44", "26Q4", "2026q4", " 2026Q4", "2026-Q4", "1969Q4"}) {
    EXPECT_THAT(std::string(ParseQuarter(wrong).status().message()), HasSubstr("as in 2026Q4")) << wrong;
  }
}

TEST(Calendar, KnowsTheQuarterBefore) {
  EXPECT_EQ(Before({2026, 4}), (Quarter{2026, 3}));
  EXPECT_EQ(Before({2027, 1}), (Quarter{2026, 4}));
}

TEST(Calendar, ARunBelongsToTheQuarterOfItsStartInUtc) {
  EXPECT_EQ(QuarterOf("2026-09-30T23:59:59Z"), (Quarter{2026, 3}));
  EXPECT_EQ(QuarterOf("2026-10-01T00:00:00Z"), (Quarter{2026, 4}));
  EXPECT_EQ(QuarterOf("2026-12-31T23:59:59Z"), (Quarter{2026, 4}));
  EXPECT_EQ(QuarterOf("2027-01-01T00:00:00Z"), (Quarter{2027, 1}));
  EXPECT_EQ(QuarterOf("2026-03-31T23:59:59Z"), (Quarter{2026, 1}));
  EXPECT_EQ(QuarterOf("2026-04-01T00:00:00Z"), (Quarter{2026, 2}));
}

TEST(Calendar, TakesTimesInUtcAlone) {
  EXPECT_EQ(*UtcText("2026-11-29"), "2026-11-29T00:00:00Z");
  EXPECT_EQ(*UtcText("2026-11-29T12:03Z"), "2026-11-29T12:03:00Z");
  EXPECT_EQ(*UtcText("2028-02-29T12:03:04Z"), "2028-02-29T12:03:04Z");
  for (const char* wrong : {"", "yesterday", "2026-11-31", "2026-02-29", "2026-11-29T12:00:00",
                            "2026-11-29T12:00:00+01:00", "2026-11-29 12:00:00Z", "2026-11-29T24:00:00Z",
                            "2026-11-29T12:60:00Z", "2026-11-29T12:00:60Z", "2026-11-29T"}) {
    EXPECT_THAT(std::string(UtcText(wrong).status().message()), HasSubstr("in UTC")) << wrong;
  }
}

TEST(Calendar, CountsSecondsOverTheEndOfAYear) {
  EXPECT_EQ(SecondsBetween("2026-12-31T23:59:58Z", "2027-01-01T00:00:03Z"), 5);
  EXPECT_EQ(SecondsBetween("2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z"), 2 * 86400);
}

}  // namespace
}  // namespace triodrill::ledger
