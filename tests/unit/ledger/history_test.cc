#include "reports/ledger/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"
#include "tests/unit/ledger/some_rows.h"

namespace triodrill::ledger {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using triodrill::testing::Program;
using triodrill::testing::TempDir;
using Json = nlohmann::json;

const std::string kHostile = "=cmd|'/c calc'!A1\",\"x\r\n\x1b[31m,;<b>";

LedgerRows SomeHistory() {
  LedgerRows rows;
  rows.runs = {RunAt(1, "2026-09-30T10:00:00Z", {After(1.2), NotWithin(60)}),
               RunAt(2, "2026-10-02T10:00:00Z", {After(1.3)}, "2.1")};
  rows.runs[1].drill = "link-lost";
  rows.runs[1].simulated = "accelerator";
  rows.incidents.push_back({.id = 1,
                            .started = "2026-10-01T10:00:00Z",
                            .detected = "2026-10-01T10:00:30Z",
                            .severity = "P1",
                            .summary = "a link was lost",
                            .drill = "link-lost"});
  return rows;
}

TEST(History, ShowsRunsAndIncidentsByTimeWithAMark) {
  const std::string text = HistoryText(SomeHistory());
  const size_t q3 = text.find("2026Q3");
  const size_t q4 = text.find("2026Q4");
  const size_t incident = text.find("! 2026-10-01T10:00:00Z  INCIDENT P1");
  const size_t run = text.find("  2026-10-02T10:00:00Z  PASS");
  ASSERT_NE(run, std::string::npos) << text;
  EXPECT_LT(q3, q4);
  EXPECT_LT(q4, incident);
  EXPECT_LT(incident, run);
  EXPECT_THAT(text, HasSubstr("detection 1.200 s (2 trials, 1 censored)"));
  EXPECT_THAT(text, HasSubstr("link-lost, torchrun, release 2.1"));
  EXPECT_THAT(text, HasSubstr("simulated: accelerator"));
  EXPECT_THAT(text, HasSubstr("detected after 30 s, its end was not told"));
  EXPECT_THAT(text, HasSubstr("2 runs, 1 incident"));
}

TEST(History, FiltersByQuarterDrillAndPipeline) {
  EXPECT_THAT(Filtered(SomeHistory(), {.quarter = Quarter{2026, 3}}).runs, SizeIs(1));
  EXPECT_THAT(Filtered(SomeHistory(), {.quarter = Quarter{2026, 3}}).incidents, SizeIs(0));
  const LedgerRows drill = Filtered(SomeHistory(), {.drill = "link-lost"});
  EXPECT_THAT(drill.runs, SizeIs(1));
  EXPECT_THAT(drill.incidents, SizeIs(1));
  EXPECT_THAT(Filtered(SomeHistory(), {.pipeline = "reference"}).runs, SizeIs(0));
}

TEST(History, IsJsonWithTheMedianAndWhatIsCensored) {
  const Json json = Json::parse(HistoryJson(SomeHistory()), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  const Json& first = json.at("entries").at(0);
  EXPECT_EQ(first.at("entry"), "run");
  EXPECT_EQ(first.at("detection_latency_s").at("n"), 2);
  EXPECT_EQ(first.at("detection_latency_s").at("censored"), 1);
  EXPECT_EQ(first.at("detection_latency_s").at("median").at("min"), 1.2);
  EXPECT_EQ(json.at("entries").at(1).at("entry"), "incident");
  EXPECT_EQ(json.at("entries").at(1).at("detected_after_s"), 30);
}

TEST(History, HostileTextMovesNoCursor) {
  LedgerRows rows = SomeHistory();
  rows.runs[0].drill = rows.incidents[0].summary = kHostile;
  EXPECT_THAT(HistoryText(rows), Not(HasSubstr("\x1b")));
  EXPECT_FALSE(Json::parse(HistoryJson(rows), nullptr, false).is_discarded());
}

// ---- export

LedgerRows EverythingHostile() {
  LedgerRows rows = SomeHistory();
  RunRow& run = rows.runs[0];
  run.release = kHostile;
  run.headline = "+1";
  run.host = "-1";
  run.kernel = "@SUM(A1)";
  run.bundle = "  =1+1";
  SdcRow sdc{.id = 1, .trial = 1, .valid = true, .slot = "n1/0", .changed = "tensor.flip"};
  sdc.raw = kHostile;
  run.sdc = {sdc};
  run.served = {{"n1/0", 2}};
  rows.dispositions = {{1, 1, "cleared", kHostile, "ann", "2026-11-03T00:00:00Z"}};
  rows.incidents[0].summary = kHostile;
  rows.conditions["same"] = {{"partition.name", "sandbox"}};
  return rows;
}

TEST(Export, JsonHoldsEveryTextAsItIs) {
  const Json json = Json::parse(ExportJson(EverythingHostile()), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json.at("runs").at(0).at("release"), kHostile);
  EXPECT_EQ(json.at("sdc").at(0).at("means").at("raw"), kHostile);
  EXPECT_EQ(json.at("sdc").at(0).at("dispositions").at(0).at("reason"), kHostile);
  EXPECT_EQ(json.at("incidents").at(0).at("summary"), kHostile);
  EXPECT_EQ(json.at("runs").at(0).at("trials").at(1).at("detection_latency").at("censored_at_s"), 60.0);
  EXPECT_EQ(json.at("conditions").at("same").at("partition.name"), "sandbox");
}

// Read by Python's csv module: as many columns in each row as in the header, no cell a formula, numbers as they are.
constexpr const char* kReader = R"python(
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
for row in rows:
    assert None not in row and None not in row.values(), row
    for cell in row.values():
        assert cell.lstrip()[:1] not in ("=", "+", "-", "@"), cell
        assert "\n" not in cell and "\r" not in cell and "\x1b" not in cell, cell
json.dump(rows, sys.stdout)
)python";

TEST(Export, CsvIsReadBackAndIsNoFormula) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3";
  TempDir dir;
  std::ofstream(dir / "ledger.csv", std::ios::binary) << ExportCsv(EverythingHostile());
  Program reader({"/usr/bin/python3", "-c", kReader, dir / "ledger.csv"}, dir / "out", dir / "err");
  ASSERT_EQ(reader.Wait(std::chrono::seconds(60)), 0) << reader.Err();
  const Json rows = Json::parse(reader.Out(), nullptr, false);
  ASSERT_FALSE(rows.is_discarded());
  std::map<std::string, int> tables;
  for (const Json& row : rows) ++tables[row.at("table").get<std::string>()];
  EXPECT_EQ(
      tables,
      (std::map<std::string, int>{
          {"run", 2}, {"trial", 3}, {"served", 1}, {"sdc", 1}, {"disposition", 1}, {"incident", 1}, {"condition", 1}}));
  EXPECT_EQ(rows.at(0).at("release"), "'=cmd|'/c calc'!A1\",\"x\\r\\n\\x1b[31m,;<b>");
  EXPECT_EQ(rows.at(0).at("bundle"), "'  =1+1");
  EXPECT_EQ(rows.at(1).at("detection_low_ns"), "1200000000");
  EXPECT_EQ(rows.at(2).at("detection_low_ns"), "60000000000");
  EXPECT_EQ(rows.at(2).at("detection_high_ns"), "") << "censored";
}

}  // namespace
}  // namespace triodrill::ledger
