// The history of runs and incidents.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/ledger/history.h"
#include "reports/ledger/words.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

using Json = nlohmann::ordered_json;

struct RunTrio {
  Figure detection, recovery, collateral;
  LevelFigure level;
};

RunTrio TrioOf(const RunRow& run) {
  const std::vector<const RunRow*> alone = {&run};
  return {RunFigureOf(SampleOf(alone, Metric::kDetectionLatency)), RunFigureOf(SampleOf(alone, Metric::kRecoveryTime)),
          RunFigureOf(SampleOf(alone, Metric::kCollateral)), LevelFigureOf(alone)};
}

std::string RunText(const RunRow& run) {
  const RunTrio trio = TrioOf(run);
  std::string text = Cat("  ", run.started, "  ", Padded(run.verdict, 12), "  ", PlainText(run.drill), ", ",
                         PlainText(run.pipeline), ", ", PlainText(ReleaseText(run.release)));
  if (run.outcome != "finished") Append(text, ", ", run.outcome);
  if (!run.undo_confirmed) text += ", AN UNDO IS NOT CONFIRMED";
  Append(text, "  (run ", PlainText(run.run_id), ")\n      detection ", FigureText(trio.detection, "s"), "; isolation ",
         LevelText(trio.level), "; recovery ", FigureText(trio.recovery, "s"));
  if (!run.simulated.empty()) Append(text, "; simulated: ", PlainText(run.simulated));
  return text + "\n";
}

std::string AfterText(const IncidentRow& incident, std::string_view what, const std::string& at) {
  if (at.empty()) return Cat(what == "over" ? "its end" : "its detection", " was not told");
  return Cat(what, " after ", SecondsBetween(incident.started, at), " s");
}

std::string IncidentText(const IncidentRow& incident) {
  std::string text = Cat("! ", incident.started, "  ", Padded(Cat("INCIDENT ", incident.severity), 12), "  ",
                         PlainText(incident.summary, kLongestText));
  for (const std::string* part : {&incident.drill, &incident.pipeline}) {
    if (!part->empty()) Append(text, ", ", PlainText(*part));
  }
  if (!incident.release.empty()) Append(text, ", ", PlainText(ReleaseText(incident.release)));
  return Cat(text, "  (incident ", incident.id,
             ")\n      by what people said: ", AfterText(incident, "detected", incident.detected), ", ",
             AfterText(incident, "over", incident.ended), "\n");
}

Json TreeOfRun(const RunRow& run) {
  const RunTrio trio = TrioOf(run);
  return {{"entry", "run"},
          {"started", run.started},
          {"quarter", QuarterName(QuarterOf(run.started))},
          {"run_id", run.run_id},
          {"drill", run.drill},
          {"pipeline", run.pipeline},
          {"partition", run.partition},
          {"release", run.release},
          {"simulated", run.simulated},
          {"verdict", run.verdict},
          {"outcome", run.outcome},
          {"exit_code", run.exit_code},
          {"undo_confirmed", run.undo_confirmed},
          {"headline", run.headline},
          {"detection_latency_s", TreeOf(trio.detection)},
          {"isolation", TreeOf(trio.level)},
          {"collateral_slots", TreeOf(trio.collateral)},
          {"recovery_time_s", TreeOf(trio.recovery)},
          {"bundle", run.bundle}};
}

Json TreeOfIncident(const IncidentRow& incident) {
  Json tree = {{"entry", "incident"}};
  tree.update(TreeOf(incident));
  return tree;
}

// By time; of equal times a run first.
template <typename OfRun, typename OfIncident>
void Merge(const LedgerRows& rows, OfRun of_run, OfIncident of_incident) {
  auto incident = rows.incidents.begin();
  for (const RunRow& run : rows.runs) {
    for (; incident != rows.incidents.end() && incident->started < run.started; ++incident) of_incident(*incident);
    of_run(run);
  }
  for (; incident != rows.incidents.end(); ++incident) of_incident(*incident);
}

}  // namespace

LedgerRows Filtered(LedgerRows rows, const HistoryFilter& filter) {
  const auto fails = [&](const auto& row) {
    return (filter.quarter && QuarterOf(row.started) != *filter.quarter) ||
           (!filter.drill.empty() && row.drill != filter.drill) ||
           (!filter.pipeline.empty() && row.pipeline != filter.pipeline);
  };
  std::erase_if(rows.runs, fails);
  std::erase_if(rows.incidents, fails);
  return rows;
}

std::string HistoryText(const LedgerRows& rows) {
  std::string text;
  std::optional<Quarter> quarter;
  const auto head = [&](const std::string& started) {
    if (quarter == QuarterOf(started)) return;
    quarter = QuarterOf(started);
    Append(text, QuarterName(*quarter), "\n");
  };
  Merge(
      rows, [&](const RunRow& run) { head(run.started), text += RunText(run); },
      [&](const IncidentRow& incident) { head(incident.started), text += IncidentText(incident); });
  const auto count = [](size_t n) { return static_cast<int64_t>(n); };
  return Cat(text, CountText(count(rows.runs.size()), "run", "runs"), ", ",
             CountText(count(rows.incidents.size()), "incident", "incidents"), "\n");
}

std::string HistoryJson(const LedgerRows& rows) {
  Json entries = Json::array();
  Merge(
      rows, [&](const RunRow& run) { entries.push_back(TreeOfRun(run)); },
      [&](const IncidentRow& incident) { entries.push_back(TreeOfIncident(incident)); });
  return JsonText({{"schema", "triodrill/ledger-list/v1"}, {"entries", entries}});
}

}  // namespace triodrill::ledger
