// A comparison as text, as Markdown and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "reports/compare/compare.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestText = 1000;

std::string Upper(Change change) {
  switch (change) {
    case Change::kImproved:
      return "improved";
    case Change::kNoWorse:
      return "no worse";
    case Change::kTooFew:
      return "not enough trials";
    case Change::kRegressed:
      return "REGRESSED";
  }
  return "";
}

// With a sign where `sign`, trimmed, without a unit.
std::string Decimal(double value, bool sign) {
  if (std::isinf(value)) return value > 0 ? "open" : "-open";
  std::string text = absl::StrFormat("%.3f", value);
  if (text == "-0.000") text = "0.000";
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return sign && value > 0 && text != "0" ? Cat("+", text) : text;
}

std::string Of(const Range& range, bool sign) {
  const std::string low = Decimal(range.low, sign);
  const std::string high = Decimal(range.high, sign);
  return low == high ? low : Cat(low, "~", high);
}

std::string WithUnit(const std::string& number, const std::string& unit) {
  return unit.empty() ? number : Cat(number, " ", unit);
}

std::string SideText(const std::optional<Range>& median, int n, int censored, const std::string& unit) {
  std::string text = median ? WithUnit(Of(*median, false), unit) : n == 0 ? "none" : "median open";
  Append(text, " (", CountText(n, "trial", "trials"));
  if (censored > 0) Append(text, ", ", censored, " censored");
  return text + ")";
}

std::string ShiftText(const MetricChange& metric) {
  if (!metric.shift) return "";
  std::string text = Cat("shift ", WithUnit(Of(metric.shift->estimate, true), metric.unit));
  if (metric.shift->interval) {
    Append(text, " [", Of(*metric.shift->interval, true), " at ", PercentText(metric.shift->confidence), "]");
  }
  if (metric.ratio && metric.ratio->interval) {
    Append(text, ", factor ", Of(metric.ratio->estimate, false), " [", Of(*metric.ratio->interval, false), "]");
  }
  return text;
}

std::string WhyText(const MetricChange& metric) {
  const char* const test = metric.log_rank ? "log-rank" : "rank";
  const auto p = [](double value) { return absl::StrFormat("%.4f", value); };
  switch (metric.change) {
    case Change::kRegressed:
      return Cat(test, " test, p ", p(metric.adjusted_worse));
    case Change::kImproved:
      return Cat(test, " test, p ", p(metric.adjusted_better));
    case Change::kNoWorse:
      return Cat(test, " test, p ", p(metric.p_no_worse));
    case Change::kTooFew:
      break;
  }
  if (!metric.trials_needed) return Cat("no number of trials would tell: ", metric.why);
  return Cat("about ", *metric.trials_needed, " on each side would be enough");
}

const char* ColourOf(const RunComparison& comparison) {
  if (comparison.refused || comparison.change == Change::kTooFew) return "\x1b[1;33m";
  return comparison.change == Change::kRegressed ? "\x1b[1;31m" : "\x1b[1;32m";
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

void AppendDifferences(const RunComparison& comparison, std::string& text) {
  const auto add = [&](const char* title, const std::vector<RunDifference>& list) {
    if (list.empty()) return;
    Append(text, "  ", title, "\n");
    for (const RunDifference& one : list) {
      Append(text, "    ", Padded(PlainText(one.what), 34), " ", PlainText(one.base.empty() ? "(none)" : one.base),
             " -> ", PlainText(one.next.empty() ? "(none)" : one.next), "\n");
    }
  };
  add("not the same in the two runs, and the figures depend on it", comparison.differences);
  add("not the same in the two runs", comparison.remarks);
}

Json Of(const std::vector<RunDifference>& list) {
  Json all = Json::array();
  for (const RunDifference& one : list) all.push_back({{"what", one.what}, {"base", one.base}, {"new", one.next}});
  return all;
}

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json Of(const std::optional<Range>& range) {
  if (!range) return nullptr;
  return {{"min", Number(range->low)}, {"max", Number(range->high)}};
}

Json Of(const std::optional<PairwiseShift>& shift) {
  if (!shift) return nullptr;
  return {{"estimate", Of(std::optional(shift->estimate))},
          {"interval", Of(shift->interval)},
          {"confidence", shift->interval ? Json(shift->confidence) : Json(nullptr)}};
}

Json Of(const MetricChange& metric) {
  return {{"name", metric.name},
          {"unit", metric.unit},
          {"change", Name(metric.change)},
          {"base", {{"n", metric.n_base}, {"censored", metric.censored_base}, {"median", Of(metric.median_base)}}},
          {"new", {{"n", metric.n_next}, {"censored", metric.censored_next}, {"median", Of(metric.median_next)}}},
          {"shift", Of(metric.shift)},
          {"factor", Of(metric.ratio)},
          {"test", metric.log_rank ? "log_rank" : "rank"},
          {"p_worse", metric.p_worse},
          {"p_worse_holm", metric.adjusted_worse},
          {"p_no_worse", metric.p_no_worse},
          {"p_better", metric.p_better},
          {"p_better_holm", metric.adjusted_better},
          {"trials_needed", metric.trials_needed ? Json(*metric.trials_needed) : Json(nullptr)},
          {"why", metric.why}};
}

}  // namespace

std::string ComparisonText(const RunComparison& comparison, bool colour) {
  std::string text = PlainText(comparison.headline, kLongestText);
  const size_t colon = text.find(' ');
  if (colour) text = Cat(ColourOf(comparison), text.substr(0, colon), "\x1b[0m", text.substr(colon));
  Append(text, "\n  base  ", PlainText(comparison.base_bundle), ": ",
         PlainText(comparison.base_headline, kLongestText));
  Append(text, "\n  new   ", PlainText(comparison.next_bundle), ": ", PlainText(comparison.next_headline, kLongestText),
         "\n");
  for (const MetricChange& metric : comparison.metrics) {
    Append(text, "  ", Padded(metric.name, 18), " ", Padded(Upper(metric.change), 18), " ");
    Append(text, SideText(metric.median_base, metric.n_base, metric.censored_base, metric.unit), " -> ",
           SideText(metric.median_next, metric.n_next, metric.censored_next, metric.unit), "\n");
    const std::string shift = ShiftText(metric);
    Append(text, std::string(40, ' '), shift, shift.empty() ? "" : "; ", WhyText(metric), "\n");
  }
  AppendDifferences(comparison, text);
  if (!comparison.refused) {
    Append(text, "  one-sided tests at ", PercentText(comparison.options.alpha), ", alarms corrected for ",
           CountText(static_cast<int64_t>(comparison.metrics.size()), "metric", "metrics"), " (Holm)\n");
  }
  return text;
}

std::string ComparisonMarkdown(const RunComparison& comparison) {
  std::string text = Cat("# ", MarkdownText(comparison.headline, kLongestText), "\n\n");
  Append(text, "- base: ", MarkdownText(comparison.base_headline, kLongestText),
         "\n- new: ", MarkdownText(comparison.next_headline, kLongestText), "\n\n");
  if (!comparison.metrics.empty()) {
    text += "| metric | answer | base | new | shift | decided by |\n|---|---|---|---|---|---|\n";
  }
  for (const MetricChange& metric : comparison.metrics) {
    Append(text, "| ", MarkdownText(metric.name), " | ", Upper(metric.change), " | ");
    Append(text, MarkdownText(SideText(metric.median_base, metric.n_base, metric.censored_base, metric.unit)), " | ",
           MarkdownText(SideText(metric.median_next, metric.n_next, metric.censored_next, metric.unit)), " | ");
    Append(text, MarkdownText(ShiftText(metric)), " | ", MarkdownText(WhyText(metric)), " |\n");
  }
  const auto add = [&](const char* title, const std::vector<RunDifference>& list) {
    if (list.empty()) return;
    Append(text, "\n## ", title, "\n\n| what | base | new |\n|---|---|---|\n");
    for (const RunDifference& one : list) {
      Append(text, "| ", MarkdownText(one.what), " | ", MarkdownText(one.base), " | ", MarkdownText(one.next), " |\n");
    }
  };
  add("Not the same in the two runs, and the figures depend on it", comparison.differences);
  add("Not the same in the two runs", comparison.remarks);
  return text;
}

std::string ComparisonJson(const RunComparison& comparison) {
  Json metrics = Json::array();
  for (const MetricChange& metric : comparison.metrics) metrics.push_back(Of(metric));
  return JsonText({{"schema", "triodrill/compare/v1"},
                   {"drill", comparison.drill},
                   {"change", comparison.refused ? "refused" : Name(comparison.change)},
                   {"exit_code", static_cast<int>(comparison.exit_code)},
                   {"headline", comparison.headline},
                   {"max_regression", comparison.options.max_regression},
                   {"alpha", comparison.options.alpha},
                   {"base", {{"bundle", comparison.base_bundle}, {"headline", comparison.base_headline}}},
                   {"new", {{"bundle", comparison.next_bundle}, {"headline", comparison.next_headline}}},
                   {"metrics", metrics},
                   {"differences", Of(comparison.differences)},
                   {"remarks", Of(comparison.remarks)}});
}

}  // namespace triodrill
