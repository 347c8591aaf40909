// A quarter's figures against those of the quarter before, by drill, pipeline and release. Pure.
//
// Trials are put together only where what the figures depend on is the same (RunRow::conditions). The change is decided
// by the tests of reports/compare, with false alarms corrected over the whole report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare/metric.h"
#include "reports/ledger/calendar.h"
#include "reports/ledger/rows.h"
#include "reports/stats/shift.h"

namespace triodrill::ledger {

// A figure of several trials. Without enough of them there is no median and no interval, only how many there are.
struct Figure {
  int n = 0;
  int censored = 0;
  int needed = 0;                 // trials that a median with its interval takes
  std::optional<Range> median;    // Kaplan-Meier, as wide as the measurement; open above where censoring leaves it so
  std::optional<Range> interval;  // between which values the median lies: order statistics
  double confidence = 0;          // of the interval, at least 95%

  bool enough() const { return n >= needed; }
};
Figure FigureOf(const Sample& sample);

// Of one run, whatever its number of trials: median, n and censored alone, as the run's own report has them.
Figure RunFigureOf(const Sample& sample);

// So many of so many, with the exact interval at 95%; none of none has no interval.
struct Share {
  int64_t k = 0;
  int64_t n = 0;
  double low = 0;
  double high = 1;
};
Share ShareOf(int64_t k, int64_t n);

// How far isolation went, on the ladder of domains.
struct LevelFigure {
  int n = 0;        // trials of which it is known
  int unknown = 0;  // and not
  int needed = 0;
  std::string median;  // the upper of two middles; "" without enough trials
  std::string worst;
};
LevelFigure LevelFigureOf(const std::vector<const RunRow*>& runs);

enum class Metric { kDetectionLatency, kRecoveryTime, kCollateral, kFalseAlarms };
Sample SampleOf(const std::vector<const RunRow*>& runs, Metric metric);

struct TrendMetric {
  std::string name, unit;
  Figure now, before;
  std::optional<MetricChange> change;  // absent where there is nothing to compare with
};

struct TrendPeriod {
  std::string release;
  Share passed;  // runs
  LevelFigure level;
};

struct TrendRow {
  std::string drill, pipeline, simulated;
  std::string conditions;  // digest; told where a drill stands in several rows for it
  TrendPeriod now;
  std::optional<TrendPeriod> before;
  std::vector<std::string> differences;  // of the conditions, by name; then nothing is compared unless asked
  std::vector<TrendMetric> metrics;
};

struct TrendOptions {
  Quarter quarter;
  CompareOptions compare;
  bool across = false;  // compare also where conditions differ
};

struct Trend {
  Quarter quarter, before;
  CompareOptions options;
  size_t compared = 0;                   // figures, over which false alarms are corrected
  std::vector<TrendRow> rows;            // by drill, pipeline, first run
  std::vector<std::string> not_drilled;  // "DRILL, PIPELINE": in the quarter before, and not in this one
  std::vector<IncidentRow> incidents;    // of the quarter
  std::vector<IncidentRow> incidents_before;
};

Trend TrendOf(const LedgerRows& rows, const TrendOptions& options);

}  // namespace triodrill::ledger
