// Everything that a ledger holds, for other programs.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "reports/ledger/history.h"
#include "reports/ledger/sdc.h"
#include "reports/ledger/words.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestCell = 32000;  // spreadsheets hold 32,767 characters

// Every column of every table, in this order whatever the ledger holds. Times are nanoseconds; an end that is not there
// is an empty cell.
constexpr std::string_view kColumns[] = {"table",
                                         "id",
                                         "run_id",
                                         "drill",
                                         "pipeline",
                                         "partition",
                                         "release",
                                         "started",
                                         "quarter",
                                         "verdict",
                                         "outcome",
                                         "exit_code",
                                         "undo_confirmed",
                                         "headline",
                                         "planned_faulted",
                                         "planned_sham",
                                         "detection_deadline_ns",
                                         "recovery_deadline_ns",
                                         "simulated",
                                         "conditions",
                                         "plan_digest",
                                         "timeline_head",
                                         "tool_version",
                                         "operator",
                                         "host",
                                         "kernel",
                                         "bundle",
                                         "added",
                                         "trial",
                                         "sham",
                                         "valid",
                                         "masked",
                                         "detection_low_ns",
                                         "detection_high_ns",
                                         "recovery_low_ns",
                                         "recovery_high_ns",
                                         "signal",
                                         "level",
                                         "evicted",
                                         "collateral",
                                         "missed",
                                         "steps_lost",
                                         "capacity",
                                         "false_alarms",
                                         "undo",
                                         "slot",
                                         "trials",
                                         "changed",
                                         "parameters",
                                         "proof",
                                         "named",
                                         "source",
                                         "raw",
                                         "latency_low_ns",
                                         "latency_high_ns",
                                         "reports",
                                         "fleet_wide",
                                         "co_located",
                                         "disposition",
                                         "entry",
                                         "reason",
                                         "at",
                                         "severity",
                                         "summary",
                                         "detected",
                                         "ended",
                                         "what",
                                         "value"};

// A row's cells by column, ready to be written.
using Cells = std::map<std::string_view, std::string>;

// Whatever follows blanks decides whether a spreadsheet calculates.
bool IsFormula(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  const std::string plain = PlainText(text, kLongestCell);
  return Cat("\"", IsFormula(plain) ? "'" : "", absl::StrReplaceAll(plain, {{"\"", "\"\""}}), "\"");
}

class CsvRow {
 public:
  explicit CsvRow(std::string_view table) { Text("table", table); }
  CsvRow& Text(std::string_view column, std::string_view text) {
    if (!text.empty()) cells_[column] = Quoted(text);
    return *this;
  }
  CsvRow& Int(std::string_view column, const std::optional<int64_t>& value) {
    if (value) cells_[column] = std::to_string(*value);
    return *this;
  }
  CsvRow& Time(std::string_view low, std::string_view high, const std::optional<Timed>& time) {
    if (!time) return *this;
    Int(low, time->low.count());
    return time->high ? Int(high, time->high->count()) : *this;
  }
  CsvRow& Real(std::string_view column, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) cells_[column] = absl::StrFormat("%.9g", *value);
    return *this;
  }
  std::string Line() const {
    std::string line;
    for (const std::string_view column : kColumns) {
      if (!line.empty()) line += ',';  // the first cell is never empty
      const auto cell = cells_.find(column);
      if (cell != cells_.end()) line += cell->second;
    }
    return line + "\r\n";
  }

 private:
  Cells cells_;
};

std::string RunLine(const RunRow& run) {
  CsvRow row("run");
  row.Int("id", run.id).Text("run_id", run.run_id).Text("drill", run.drill).Text("pipeline", run.pipeline);
  row.Text("partition", run.partition).Text("release", run.release).Text("started", run.started);
  row.Text("quarter", QuarterName(QuarterOf(run.started))).Text("verdict", run.verdict).Text("outcome", run.outcome);
  row.Int("exit_code", run.exit_code).Int("undo_confirmed", run.undo_confirmed ? 1 : 0).Text("headline", run.headline);
  row.Int("planned_faulted", run.planned_faulted).Int("planned_sham", run.planned_sham);
  row.Int("detection_deadline_ns", run.detection_deadline.count());
  row.Int("recovery_deadline_ns", run.recovery_deadline.count()).Text("simulated", run.simulated);
  row.Text("conditions", run.conditions).Text("plan_digest", run.plan_digest).Text("timeline_head", run.timeline_head);
  row.Text("tool_version", run.tool_version).Text("operator", run.operator_name).Text("host", run.host);
  return row.Text("kernel", run.kernel).Text("bundle", run.bundle).Text("added", run.added).Line();
}

// What tells whose trial or entry it is.
CsvRow Of(std::string_view table, const RunRow& run) {
  CsvRow row(table);
  row.Text("run_id", run.run_id).Text("drill", run.drill).Text("pipeline", run.pipeline);
  return row.Text("release", run.release).Text("started", run.started);
}

std::string TrialLine(const RunRow& run, const TrialRow& trial) {
  CsvRow row = Of("trial", run);
  row.Int("trial", trial.trial).Int("sham", trial.sham ? 1 : 0).Int("valid", trial.valid ? 1 : 0);
  row.Int("masked", trial.masked ? 1 : 0).Time("detection_low_ns", "detection_high_ns", trial.detection);
  row.Time("recovery_low_ns", "recovery_high_ns", trial.recovery).Text("signal", trial.signal);
  row.Text("level", trial.level).Int("evicted", trial.evicted).Int("collateral", trial.collateral);
  row.Int("missed", trial.missed).Int("steps_lost", trial.steps_lost).Real("capacity", trial.capacity);
  return row.Int("false_alarms", trial.false_alarms).Text("undo", trial.undo).Line();
}

std::string SdcLine(const RunRow& run, const SdcRow& sdc) {
  CsvRow row = Of("sdc", run);
  row.Int("id", sdc.id).Int("trial", sdc.trial).Int("valid", sdc.valid ? 1 : 0).Text("slot", sdc.slot);
  row.Text("changed", sdc.changed).Text("parameters", sdc.parameters).Text("proof", sdc.proof);
  row.Text("outcome", sdc.outcome).Text("named", sdc.named).Text("signal", sdc.signal).Text("source", sdc.source);
  row.Text("raw", sdc.raw).Time("latency_low_ns", "latency_high_ns", sdc.latency).Int("reports", sdc.reports);
  return row.Text("fleet_wide", sdc.fleet_wide).Text("co_located", sdc.co_located).Line();
}

std::string IncidentLine(const IncidentRow& incident) {
  CsvRow row("incident");
  row.Int("id", incident.id).Text("started", incident.started).Text("severity", incident.severity);
  row.Text("quarter", QuarterName(QuarterOf(incident.started))).Text("summary", incident.summary);
  row.Text("detected", incident.detected).Text("ended", incident.ended).Text("drill", incident.drill);
  row.Text("pipeline", incident.pipeline).Text("release", incident.release).Text("operator", incident.operator_name);
  return row.Text("added", incident.added).Line();
}

Json TreeOfTrial(const TrialRow& trial) {
  const auto number = [](const std::optional<int64_t>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"trial", trial.trial},
          {"sham", trial.sham},
          {"valid", trial.valid},
          {"masked", trial.masked},
          {"detection_latency", TreeOf(trial.detection)},
          {"recovery_time", TreeOf(trial.recovery)},
          {"signal", trial.signal},
          {"level", trial.level},
          {"evicted", number(trial.evicted)},
          {"collateral", number(trial.collateral)},
          {"missed", number(trial.missed)},
          {"steps_lost", number(trial.steps_lost)},
          {"capacity", trial.capacity ? Json(*trial.capacity) : Json(nullptr)},
          {"false_alarms", trial.false_alarms},
          {"undo", trial.undo}};
}

Json TreeOfRun(const RunRow& run) {
  Json trials = Json::array();
  for (const TrialRow& trial : run.trials) trials.push_back(TreeOfTrial(trial));
  Json served = Json::array();
  for (const ServedRow& one : run.served) served.push_back({{"slot", one.slot}, {"trials", one.trials}});
  return {{"id", run.id},
          {"run_id", run.run_id},
          {"drill", run.drill},
          {"pipeline", run.pipeline},
          {"partition", run.partition},
          {"release", run.release},
          {"started", run.started},
          {"quarter", QuarterName(QuarterOf(run.started))},
          {"verdict", run.verdict},
          {"outcome", run.outcome},
          {"exit_code", run.exit_code},
          {"undo_confirmed", run.undo_confirmed},
          {"headline", run.headline},
          {"planned", {{"faulted", run.planned_faulted}, {"sham", run.planned_sham}}},
          {"detection_deadline_s", static_cast<double>(run.detection_deadline.count()) / 1e9},
          {"recovery_deadline_s", static_cast<double>(run.recovery_deadline.count()) / 1e9},
          {"simulated", run.simulated},
          {"conditions", run.conditions},
          {"plan_digest", run.plan_digest},
          {"timeline_head", run.timeline_head},
          {"tool_version", run.tool_version},
          {"operator", run.operator_name},
          {"host", run.host},
          {"kernel", run.kernel},
          {"bundle", run.bundle},
          {"added", run.added},
          {"trials", trials},
          {"served", served}};
}

}  // namespace

std::string ExportCsv(const LedgerRows& rows) {
  std::string text;
  for (const std::string_view column : kColumns) Append(text, text.empty() ? "" : ",", column);
  text += "\r\n";
  for (const RunRow& run : rows.runs) {
    text += RunLine(run);
    for (const TrialRow& trial : run.trials) text += TrialLine(run, trial);
    for (const ServedRow& one : run.served) {
      text += Of("served", run).Text("slot", one.slot).Int("trials", one.trials).Line();
    }
    for (const SdcRow& sdc : run.sdc) text += SdcLine(run, sdc);
  }
  for (const DispositionRow& said : rows.dispositions) {
    CsvRow row("disposition");
    row.Int("id", said.id).Int("entry", said.entry).Text("disposition", said.disposition).Text("reason", said.reason);
    text += row.Text("operator", said.operator_name).Text("at", said.at).Line();
  }
  for (const IncidentRow& incident : rows.incidents) text += IncidentLine(incident);
  for (const auto& [digest, conditions] : rows.conditions) {
    for (const auto& [what, value] : conditions) {
      text += CsvRow("condition").Text("conditions", digest).Text("what", what).Text("value", value).Line();
    }
  }
  return text;
}

std::string ExportJson(const LedgerRows& rows) {
  Json runs = Json::array();
  for (const RunRow& run : rows.runs) runs.push_back(TreeOfRun(run));
  Json incidents = Json::array();
  for (const IncidentRow& incident : rows.incidents) incidents.push_back(TreeOf(incident));
  Json conditions = Json::object();
  for (const auto& [digest, one] : rows.conditions) {
    Json set = Json::object();
    for (const auto& [what, value] : one) set[what] = value;
    conditions[digest] = set;
  }
  return JsonText({{"schema", "triodrill/ledger/v1"},
                   {"runs", runs},
                   {"sdc", SdcEntries(rows)},
                   {"incidents", incidents},
                   {"conditions", conditions}});
}

}  // namespace triodrill::ledger
