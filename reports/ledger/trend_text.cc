#include "reports/ledger/trend_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "reports/ledger/words.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDigestShown = 12;
constexpr size_t kDifferencesShown = 6;

size_t CountOf(const Trend& trend, Change change) {
  size_t count = 0;
  for (const TrendRow& row : trend.rows) {
    count += static_cast<size_t>(std::count_if(row.metrics.begin(), row.metrics.end(), [&](const TrendMetric& metric) {
      return metric.change && metric.change->change == change;
    }));
  }
  return count;
}

std::string Signed(double value, std::string_view unit) {
  if (std::isinf(value)) return "open";
  return Cat(absl::StrFormat("%+.3f", value), " ", unit);
}

std::string ShiftText(const MetricChange& change) {
  if (!change.shift || !change.shift->interval) return "";
  return Cat("shift between ", Signed(change.shift->interval->low, change.unit), " and ",
             Signed(change.shift->interval->high, change.unit), " at ", PercentText(change.shift->confidence));
}

std::string PText(const MetricChange& change) {
  const double p = change.change == Change::kRegressed  ? change.adjusted_worse
                   : change.change == Change::kImproved ? change.adjusted_better
                                                        : change.p_no_worse;
  return Cat(change.log_rank ? "log-rank" : "rank", " test, p ", absl::StrFormat("%.4f", p));
}

std::string LevelLine(const LevelFigure& level) {
  if (level.n == 0) return LevelText(level);
  const std::string unknown = level.unknown > 0 ? Cat(", ", level.unknown, " unknown") : "";
  const std::string counts = Cat(CountText(level.n, "trial", "trials"), unknown);
  if (level.median.empty()) return Cat("not enough trials (", counts, "; ", level.needed, " make a median)");
  return Cat(level.median, ", ", level.worst, " at worst (", counts, ")");
}

const char* ColourOf(const Trend& trend) {
  if (CountOf(trend, Change::kRegressed) > 0) return "\x1b[1;31m";
  return CountOf(trend, Change::kTooFew) > 0 || trend.compared == 0 ? "\x1b[1;33m" : "\x1b[1;32m";
}

std::string IncidentsText(const Trend& trend) {
  return Cat(CountText(static_cast<int64_t>(trend.incidents.size()), "incident", "incidents"), ", before ",
             trend.incidents_before.size());
}

Json TreeOf(const TrendPeriod& period) {
  return {{"release", period.release},
          {"passed", ledger::TreeOf(period.passed)},
          {"isolation", ledger::TreeOf(period.level)}};
}

Json TreeOf(const TrendRow& row, const TrendMetric& metric) {
  Json tree = {{"name", metric.name},
               {"unit", metric.unit},
               {"now", ledger::TreeOf(metric.now)},
               {"before", ledger::TreeOf(metric.before)},
               {"change", ChangeWord(row, metric)},
               {"reason", ChangeReason(row, metric)}};
  const std::optional<MetricChange>& change = metric.change;
  const bool shift = change && change->shift && change->shift->interval;
  tree["shift_interval"] = shift ? ledger::TreeOf(change->shift->interval) : Json(nullptr);
  tree["shift_confidence"] = shift ? Json(change->shift->confidence) : Json(nullptr);
  tree["p_worse_holm"] = change ? Json(change->adjusted_worse) : Json(nullptr);
  tree["p_no_worse"] = change ? Json(change->p_no_worse) : Json(nullptr);
  tree["p_better_holm"] = change ? Json(change->adjusted_better) : Json(nullptr);
  tree["trials_needed"] = change && change->trials_needed ? Json(*change->trials_needed) : Json(nullptr);
  return tree;
}

Json TreeOf(const TrendRow& row) {
  Json metrics = Json::array();
  for (const TrendMetric& metric : row.metrics) metrics.push_back(TreeOf(row, metric));
  Json differences = Json::array();
  for (const std::string& one : row.differences) differences.push_back(one);
  return {{"drill", row.drill},         {"pipeline", row.pipeline},
          {"simulated", row.simulated}, {"conditions", row.conditions},
          {"now", TreeOf(row.now)},     {"before", row.before ? TreeOf(*row.before) : Json(nullptr)},
          {"differences", differences}, {"metrics", metrics}};
}

}  // namespace

std::string TrendHeadline(const Trend& trend) {
  const std::string head = Cat(QuarterName(trend.quarter), " against ", QuarterName(trend.before), ": ");
  if (trend.rows.empty()) return Cat(head, "NOTHING WAS DRILLED");
  if (trend.compared == 0) return Cat(head, "NOTHING TO COMPARE WITH");
  std::vector<std::string> parts;
  const auto add = [&](Change change, std::string_view word) {
    if (const size_t count = CountOf(trend, change); count > 0) parts.push_back(Cat(count, " ", word));
  };
  add(Change::kRegressed, "REGRESSED");
  add(Change::kTooFew, "without enough trials");
  add(Change::kNoWorse, "no worse");
  add(Change::kImproved, "improved");
  return Cat(head, absl::StrJoin(parts, ", "), " of ",
             CountText(static_cast<int64_t>(trend.compared), "figure", "figures"));
}

std::string TrendTitle(const Trend& trend, const TrendRow& row) {
  std::string title = Cat(row.drill, ", ", row.pipeline, ", ", ReleaseText(row.now.release));
  if (row.before) {
    Append(title, " against ", ReleaseText(row.before->release));
  } else {
    Append(title, ", not drilled in ", QuarterName(trend.before));
  }
  const auto alike = std::count_if(trend.rows.begin(), trend.rows.end(), [&](const TrendRow& other) {
    return other.drill == row.drill && other.pipeline == row.pipeline && other.now.release == row.now.release;
  });
  if (alike > 1) Append(title, ", under conditions ", row.conditions.substr(0, kDigestShown));
  if (!row.simulated.empty()) Append(title, " (simulated: ", row.simulated, ")");
  return title;
}

std::string ChangeWord(const TrendRow& row, const TrendMetric& metric) {
  if (!row.before || metric.before.n == 0) return "new";
  if (metric.now.n == 0) return "no trials";
  if (!metric.change) return "not compared";
  switch (metric.change->change) {
    case Change::kRegressed:
      return "regressed";
    case Change::kImproved:
      return "improved";
    case Change::kNoWorse:
      return "no worse";
    case Change::kTooFew:
      return "not enough trials";
  }
  return "";
}

std::string ChangeReason(const TrendRow& row, const TrendMetric& metric) {
  if (!row.before || metric.before.n == 0) return "nothing before to compare with";
  if (metric.now.n == 0) return "no valid trial";
  if (!metric.change) {
    const auto end =
        row.differences.begin() + static_cast<std::ptrdiff_t>(std::min(row.differences.size(), kDifferencesShown));
    std::string text = Cat("not the same: ", absl::StrJoin(row.differences.begin(), end, ", "));
    if (row.differences.size() > kDifferencesShown) {
      Append(text, " and ", row.differences.size() - kDifferencesShown, " more");
    }
    return Cat(text, "; --across compares all the same");
  }
  const MetricChange& change = *metric.change;
  if (change.change == Change::kTooFew) {
    return change.trials_needed ? Cat("about ", *change.trials_needed, " trials on each side would tell")
                                : Cat("no number of trials would tell: ", change.why);
  }
  const std::string shift = ShiftText(change);
  return Cat(PText(change), shift.empty() ? "" : "; ", shift);
}

std::vector<TrendLine> PlainLines(const TrendRow& row) {
  const auto before = [&](auto text) { return row.before ? text(*row.before) : std::string("none"); };
  return {{"runs passed", before([](const TrendPeriod& period) { return ShareText(period.passed); }),
           ShareText(row.now.passed)},
          {"isolation", before([](const TrendPeriod& period) { return LevelLine(period.level); }),
           LevelLine(row.now.level)}};
}

std::string TrendFootnote(const Trend& trend) {
  return Cat("One-sided tests at ", PercentText(trend.options.alpha), ", a change of more than ",
             PercentText(trend.options.max_regression), ", false alarms corrected for ",
             CountText(static_cast<int64_t>(trend.compared), "figure", "figures"),
             " (Holm); intervals of medians at 95% or more.");
}

std::string TrendText(const Trend& trend, bool colour) {
  std::string text = TrendHeadline(trend);
  if (colour) text = Cat(ColourOf(trend), text, "\x1b[0m");
  text += "\n";
  for (const TrendRow& row : trend.rows) {
    Append(text, "  ", PlainText(TrendTitle(trend, row), kLongestText), "\n");
    for (const TrendLine& line : PlainLines(row)) {
      Append(text, "    ", Padded(line.label, 18), " ", Padded("", 17), " ", line.before, " -> ", line.now, "\n");
    }
    for (const TrendMetric& metric : row.metrics) {
      const std::string word = ChangeWord(row, metric);
      Append(text, "    ", Padded(metric.name, 18), " ", Padded(word == "regressed" ? "REGRESSED" : word, 17), " ",
             FigureText(metric.before, metric.unit), " -> ", FigureText(metric.now, metric.unit), "\n");
      Append(text, std::string(41, ' '), PlainText(ChangeReason(row, metric), kLongestText), "\n");
    }
  }
  for (const std::string& one : trend.not_drilled) {
    Append(text, "  not drilled in ", QuarterName(trend.quarter), ": ", PlainText(one), "\n");
  }
  Append(text, "  ", IncidentsText(trend), "\n");
  for (const IncidentRow& incident : trend.incidents) {
    Append(text, "    ! ", incident.started, "  ", incident.severity, "  ", PlainText(incident.summary, kLongestText),
           "\n");
  }
  return Cat(text, "  ", TrendFootnote(trend), "\n");
}

std::string TrendMarkdown(const Trend& trend) {
  const auto cell = [](const std::string& text) { return MarkdownText(text, kLongestText); };
  std::string text = Cat("# ", cell(TrendHeadline(trend)), "\n");
  for (const TrendRow& row : trend.rows) {
    Append(text, "\n## ", cell(TrendTitle(trend, row)), "\n\n| | change | ", QuarterName(trend.before), " | ",
           QuarterName(trend.quarter), " | why |\n|---|---|---|---|---|\n");
    for (const TrendLine& line : PlainLines(row)) {
      Append(text, "| ", line.label, " | | ", cell(line.before), " | ", cell(line.now), " | |\n");
    }
    for (const TrendMetric& metric : row.metrics) {
      Append(text, "| ", cell(metric.name), " | ", ChangeWord(row, metric), " | ",
             cell(FigureText(metric.before, metric.unit)), " | ", cell(FigureText(metric.now, metric.unit)), " | ",
             cell(ChangeReason(row, metric)), " |\n");
    }
  }
  if (!trend.not_drilled.empty()) text += "\n## Not drilled any more\n\n";
  for (const std::string& one : trend.not_drilled) Append(text, "- ", cell(one), "\n");
  Append(text, "\n## Incidents\n\n", IncidentsText(trend), ".\n");
  if (!trend.incidents.empty()) text += "\n| started | severity | summary | drill |\n|---|---|---|---|\n";
  for (const IncidentRow& one : trend.incidents) {
    Append(text, "| ", cell(one.started), " | ", cell(one.severity), " | ", cell(one.summary), " | ", cell(one.drill),
           " |\n");
  }
  return Cat(text, "\n", TrendFootnote(trend), "\n");
}

std::string TrendJson(const Trend& trend) {
  Json rows = Json::array();
  for (const TrendRow& row : trend.rows) rows.push_back(TreeOf(row));
  Json gone = Json::array();
  for (const std::string& one : trend.not_drilled) gone.push_back(one);
  Json incidents = Json::array();
  for (const IncidentRow& one : trend.incidents) incidents.push_back(ledger::TreeOf(one));
  return JsonText({{"schema", "triodrill/trend/v1"},
                   {"quarter", QuarterName(trend.quarter)},
                   {"before", QuarterName(trend.before)},
                   {"headline", TrendHeadline(trend)},
                   {"max_regression", trend.options.max_regression},
                   {"alpha", trend.options.alpha},
                   {"compared", trend.compared},
                   {"rows", rows},
                   {"not_drilled", gone},
                   {"incidents", incidents},
                   {"incidents_before", trend.incidents_before.size()}});
}

}  // namespace triodrill::ledger
