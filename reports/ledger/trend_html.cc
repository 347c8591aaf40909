// A quarter's trend as a page: no script, nothing fetched, light and dark.
#include "reports/ledger/trend_text.h"
#include "reports/ledger/words.h"
#include "reports/render/escape.h"
#include "reports/render/html_style.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

std::string Text(std::string_view text) { return HtmlText(text, kLongestText); }

// The style sheet's words for good, bad and open.
std::string_view ClassOf(const TrendMetric& metric) {
  if (!metric.change || metric.change->change == Change::kTooFew) return "INCONCLUSIVE";
  return metric.change->change == Change::kRegressed ? "FAIL" : "PASS";
}

void AppendRow(const Trend& trend, const TrendRow& row, std::string& out) {
  Append(out, "<h2>", Text(TrendTitle(trend, row)),
         "</h2>\n<div class=\"wide\"><table><thead><tr><th></th><th>change</th><th>", QuarterName(trend.before),
         "</th><th>", QuarterName(trend.quarter), "</th><th>why</th></tr></thead><tbody>\n");
  for (const TrendLine& line : PlainLines(row)) {
    Append(out, "<tr><th>", Text(line.label), "</th><td></td><td>", Text(line.before), "</td><td>", Text(line.now),
           "</td><td></td></tr>\n");
  }
  for (const TrendMetric& metric : row.metrics) {
    Append(out, "<tr><th>", Text(metric.name), "</th><td><span class=\"answer ", ClassOf(metric), "\">",
           Text(ChangeWord(row, metric)), "</span></td><td>", Text(FigureText(metric.before, metric.unit)),
           "</td><td>");
    Append(out, Text(FigureText(metric.now, metric.unit)), "</td><td class=\"soft\">", Text(ChangeReason(row, metric)),
           "</td></tr>\n");
  }
  out += "</tbody></table></div>\n";
}

void AppendIncidents(const Trend& trend, std::string& out) {
  Append(out, "<h2>Incidents</h2>\n<p>", trend.incidents.size(), ", before ", trend.incidents_before.size(), ".</p>\n");
  if (trend.incidents.empty()) return;
  out +=
      "<div "
      "class=\"wide\"><table><thead><tr><th>started</th><th>severity</th><th>summary</th><th>drill</th></tr></"
      "thead><tbody>\n";
  for (const IncidentRow& one : trend.incidents) {
    Append(out, "<tr><td>", Text(one.started), "</td><td>", Text(one.severity), "</td><td>", Text(one.summary),
           "</td><td>", Text(one.drill), "</td></tr>\n");
  }
  out += "</tbody></table></div>\n";
}

}  // namespace

std::string TrendHtml(const Trend& trend) {
  const std::string headline = Text(TrendHeadline(trend));
  std::string out =
      Cat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width, initial-scale=1\">\n<title>",
          headline, "</title>\n<style>", kHtmlStyle, "</style></head>\n<body><main>\n<h1>", headline, "</h1>\n");
  for (const TrendRow& row : trend.rows) AppendRow(trend, row, out);
  if (!trend.not_drilled.empty()) {
    Append(out, "<h2>Not drilled in ", QuarterName(trend.quarter), "</h2>\n<ul class=\"blockers\">\n");
    for (const std::string& one : trend.not_drilled) Append(out, "<li>", Text(one), "</li>\n");
    out += "</ul>\n";
  }
  AppendIncidents(trend, out);
  return Cat(out, "<p class=\"soft\">", Text(TrendFootnote(trend)), "</p>\n</main></body></html>\n");
}

}  // namespace triodrill::ledger
