// The entries of silent data corruption.
#include <nlohmann/json.hpp>

#include "reports/ledger/history.h"
#include "reports/ledger/sdc.h"
#include "reports/ledger/words.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

using Json = nlohmann::ordered_json;

std::string TrialText(const SdcRow& row) { return row.trial == 0 ? "between trials" : Cat("trial ", row.trial); }

std::string MeansText(const SdcRow& row) {
  if (row.signal.empty()) return "nobody reported it";
  std::string text = Cat("signal ", row.signal, ", ", row.source);
  if (!row.named.empty()) Append(text, ", names ", row.named == "faulted" ? "the slot" : "nobody");
  return text;
}

void AppendView(const SdcView& view, std::string& text) {
  const SdcRow& row = *view.row;
  const auto line = [&](std::string_view label, const std::string& said) {
    Append(text, "    ", Padded(std::string(label), 14), PlainText(said, kLongestText), "\n");
  };
  Append(text, row.id, "  ", PlainText(row.slot), "  ", PlainText(view.disposition), "  ",
         row.injected() ? Cat(PlainText(row.changed), " ", row.outcome) : std::string("suspected, nothing was changed"),
         "\n");
  line("when", Cat(view.run->started, ", ", view.run->drill, ", ", view.run->pipeline, ", run ", view.run->run_id, ", ",
                   TrialText(row)));
  if (row.injected()) line("changed", Cat(row.changed, " ", row.parameters, "; ", row.proof));
  line("detected by", MeansText(row));
  if (row.latency) line("after", TimedText(row.latency));
  line("frequency",
       Cat(ShareText(view.frequency), row.injected() ? " of the trials with this change of this slot were caught"
                                                     : " of the trials in which it had a part"));
  for (const DispositionRow* said : view.history) {
    line("disposition", Cat(said->disposition, ", ", said->at, ", ", said->operator_name, ": ", said->reason));
  }
  line("fleet-wide", row.fleet_wide);
  line("co-located", row.co_located);
}

Json TreeOfView(const SdcView& view) {
  const SdcRow& row = *view.row;
  Json history = Json::array();
  for (const DispositionRow* said : view.history) {
    history.push_back({{"disposition", said->disposition},
                       {"reason", said->reason},
                       {"operator", said->operator_name},
                       {"at", said->at}});
  }
  return {{"id", row.id},
          {"kind", row.injected() ? "injected" : "suspect"},
          {"slot", row.slot},
          {"run_id", view.run->run_id},
          {"started", view.run->started},
          {"drill", view.run->drill},
          {"pipeline", view.run->pipeline},
          {"partition", view.run->partition},
          {"release", view.run->release},
          {"trial", row.trial},
          {"valid", row.valid},
          {"changed", row.changed},
          {"parameters", row.parameters},
          {"proof", row.proof},
          {"outcome", row.outcome},
          {"means", {{"signal", row.signal}, {"source", row.source}, {"raw", row.raw}, {"named", row.named}}},
          {"latency", TreeOf(row.latency)},
          {"reports", row.reports},
          {"frequency", TreeOf(view.frequency)},
          {"disposition", view.disposition},
          {"dispositions", history},
          {"retests", {{"fleet_wide", row.fleet_wide}, {"co_located", row.co_located}}}};
}

}  // namespace

std::string SdcText(const LedgerRows& rows) {
  std::string text;
  const std::vector<SdcView> views = ViewSdc(rows);
  for (const SdcView& view : views) AppendView(view, text);
  for (const SdcSummary& one : SummariseSdc(rows)) {
    Append(text, PlainText(one.changed), " under ", PlainText(one.pipeline), ": caught ", ShareText(one.share), "; ",
           one.masked, " masked, ", one.not_valid, " not valid\n");
  }
  return Cat(text, CountText(static_cast<int64_t>(views.size()), "entry", "entries"), "\n");
}

Json SdcEntries(const LedgerRows& rows) {
  Json entries = Json::array();
  for (const SdcView& view : ViewSdc(rows)) entries.push_back(TreeOfView(view));
  return entries;
}

std::string SdcJson(const LedgerRows& rows) {
  Json summary = Json::array();
  for (const SdcSummary& one : SummariseSdc(rows)) {
    summary.push_back({{"pipeline", one.pipeline},
                       {"changed", one.changed},
                       {"detected", one.detected},
                       {"masked", one.masked},
                       {"missed", one.missed},
                       {"not_valid", one.not_valid},
                       {"share", TreeOf(one.share)}});
  }
  return JsonText({{"schema", "triodrill/ledger-sdc/v1"}, {"entries", SdcEntries(rows)}, {"summary", summary}});
}

}  // namespace triodrill::ledger
