#include "reports/ledger/sdc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/ledger/history.h"
#include "tests/unit/ledger/some_rows.h"

namespace triodrill::ledger {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

SdcRow Entry(int64_t id, int64_t trial, const std::string& slot, const std::string& changed,
             const std::string& outcome) {
  SdcRow row{.id = id, .trial = trial, .valid = outcome != "not_valid", .slot = slot, .changed = changed};
  row.outcome = outcome;
  row.signal = outcome == "missed" ? "" : "sdc";
  return row;
}

LedgerRows SomeRows() {
  LedgerRows rows;
  RunRow first = RunAt(1, "2026-10-01T00:00:00Z", {});
  first.sdc = {Entry(1, 1, "n2/0", "tensor.flip", "detected"), Entry(2, 2, "n2/0", "tensor.flip", "missed"),
               Entry(3, 3, "n2/0", "tensor.flip", "masked"), Entry(4, 4, "n2/0", "tensor.flip", "not_valid"),
               Entry(5, 1, "n1/0", "", "reported")};
  first.served = {{"n1/0", 4}};
  RunRow second = RunAt(2, "2026-11-01T00:00:00Z", {});
  second.sdc = {Entry(6, 1, "n2/0", "tensor.flip", "detected"), Entry(7, 1, "n0/0", "tensor.flip", "detected")};
  second.served = {{"n1/0", 6}};
  RunRow elsewhere = RunAt(3, "2026-11-02T00:00:00Z", {});
  elsewhere.partition = "another";
  elsewhere.sdc = {Entry(8, 1, "n2/0", "tensor.flip", "missed")};
  elsewhere.served = {{"n1/0", 100}};
  rows.runs = {first, second, elsewhere};
  return rows;
}

TEST(Sdc, FrequencyIsOfTheSameChangeOfTheSameSlotInThatPartition) {
  const LedgerRows rows = SomeRows();
  const std::vector<SdcView> views = ViewSdc(rows);
  ASSERT_THAT(views, SizeIs(8));
  EXPECT_EQ(views[0].frequency.k, 2);  // entries 1 and 6; 3 had no effect, 4 was not valid
  EXPECT_EQ(views[0].frequency.n, 3);
  EXPECT_EQ(views[6].frequency.k, 1);
  EXPECT_EQ(views[6].frequency.n, 1);
  EXPECT_EQ(views[7].frequency.k, 0);
  EXPECT_EQ(views[7].frequency.n, 1);
}

TEST(Sdc, ASuspectsFrequencyIsOfTheTrialsInWhichItHadAPart) {
  const LedgerRows rows = SomeRows();
  const SdcView suspect = ViewSdc(rows)[4];
  EXPECT_EQ(suspect.disposition, "suspect");
  EXPECT_EQ(suspect.frequency.k, 1);
  EXPECT_EQ(suspect.frequency.n, 10);
  EXPECT_NEAR(suspect.frequency.low, 1 - std::pow(0.975, 0.1), 1e-9);  // Clopper and Pearson at 1 of n
}

TEST(Sdc, TheLastWordCountsAndTheOthersStay) {
  LedgerRows rows = SomeRows();
  rows.dispositions = {{1, 5, "cleared", "59 clean trials", "ann", "2026-11-03T00:00:00Z"},
                       {2, 5, "retired", "again in production", "bob", "2026-11-09T00:00:00Z"}};
  const std::vector<SdcView> views = ViewSdc(rows);
  EXPECT_EQ(views[4].disposition, "retired");
  ASSERT_THAT(views[4].history, SizeIs(2));
  EXPECT_EQ(views[4].history[0]->reason, "59 clean trials");
  EXPECT_EQ(views[0].disposition, "injected");
  EXPECT_THAT(SdcText(rows), HasSubstr("cleared, 2026-11-03T00:00:00Z, ann: 59 clean trials"));
  const Json json = Json::parse(SdcJson(rows), nullptr, false);
  EXPECT_EQ(json.at("entries").at(4).at("dispositions").size(), 2U);
  EXPECT_EQ(json.at("entries").at(4).at("frequency").at("n"), 10);
}

TEST(Sdc, AllSlotsTogetherAreOneShareForEachChange) {
  const LedgerRows rows = SomeRows();
  const std::vector<SdcSummary> summary = SummariseSdc(rows);
  ASSERT_THAT(summary, SizeIs(1));
  EXPECT_EQ(summary[0].detected, 3);
  EXPECT_EQ(summary[0].missed, 2);
  EXPECT_EQ(summary[0].masked, 1);
  EXPECT_EQ(summary[0].not_valid, 1);
  EXPECT_EQ(summary[0].share.n, 5);
  EXPECT_THAT(SdcText(rows), HasSubstr("tensor.flip under torchrun: caught 3 of 5"));
}

}  // namespace
}  // namespace triodrill::ledger
