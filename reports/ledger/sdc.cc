#include "reports/ledger/sdc.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace triodrill::ledger {
namespace {

// A slot under one pipeline, with what was changed there ("": nothing, it is suspected).
using Subject = std::tuple<std::string, std::string, std::string, std::string>;  // partition, pipeline, slot, changed
using TrialKey = std::pair<int64_t, int64_t>;                                    // run, trial

struct Tally {
  std::set<TrialKey> hit, all;
};

Subject SubjectOf(const RunRow& run, const SdcRow& row) { return {run.partition, run.pipeline, row.slot, row.changed}; }

bool Counts(const SdcRow& row) { return row.valid && row.outcome != "masked" && row.outcome != "not_valid"; }

std::map<Subject, Tally> TallyEntries(const LedgerRows& rows) {
  std::map<Subject, Tally> tallies;
  for (const RunRow& run : rows.runs) {
    for (const SdcRow& row : run.sdc) {
      if (!Counts(row)) continue;
      Tally& tally = tallies[SubjectOf(run, row)];
      tally.all.insert({run.id, row.trial});
      if (row.outcome != "missed") tally.hit.insert({run.id, row.trial});
    }
  }
  return tallies;
}

int64_t ServedTrials(const LedgerRows& rows, const RunRow& like, const std::string& slot) {
  int64_t trials = 0;
  for (const RunRow& run : rows.runs) {
    if (run.partition != like.partition || run.pipeline != like.pipeline) continue;
    for (const ServedRow& served : run.served) {
      if (served.slot == slot) trials += served.trials;
    }
  }
  return trials;
}

}  // namespace

std::vector<SdcView> ViewSdc(const LedgerRows& rows) {
  const std::map<Subject, Tally> tallies = TallyEntries(rows);
  std::vector<SdcView> views;
  for (const RunRow& run : rows.runs) {
    for (const SdcRow& row : run.sdc) {
      SdcView& view = views.emplace_back();
      view.run = &run;
      view.row = &row;
      view.disposition = row.injected() ? "injected" : "suspect";
      const auto tally = tallies.find(SubjectOf(run, row));
      const auto hits = tally == tallies.end() ? int64_t{0} : static_cast<int64_t>(tally->second.hit.size());
      const auto all = tally == tallies.end() ? int64_t{0} : static_cast<int64_t>(tally->second.all.size());
      view.frequency = ShareOf(hits, row.injected() ? all : std::max(hits, ServedTrials(rows, run, row.slot)));
    }
  }
  std::sort(views.begin(), views.end(), [](const SdcView& a, const SdcView& b) { return a.row->id < b.row->id; });
  for (const DispositionRow& said : rows.dispositions) {
    for (SdcView& view : views) {
      if (view.row->id != said.entry) continue;
      view.history.push_back(&said);
      view.disposition = said.disposition;
    }
  }
  return views;
}

std::vector<SdcSummary> SummariseSdc(const LedgerRows& rows) {
  std::map<std::pair<std::string, std::string>, SdcSummary> all;
  for (const RunRow& run : rows.runs) {
    for (const SdcRow& row : run.sdc) {
      if (!row.injected()) continue;
      SdcSummary& summary = all[{run.pipeline, row.changed}];
      summary.pipeline = run.pipeline;
      summary.changed = row.changed;
      ++(row.outcome == "detected" ? summary.detected
         : row.outcome == "masked" ? summary.masked
         : row.outcome == "missed" ? summary.missed
                                   : summary.not_valid);
    }
  }
  std::vector<SdcSummary> list;
  for (auto& [key, summary] : all) {
    summary.share = ShareOf(summary.detected, summary.detected + summary.missed);
    list.push_back(std::move(summary));
  }
  return list;
}

}  // namespace triodrill::ledger
