// A quarter's trend as text, Markdown, JSON and a page. The first line decides. Pure.
#pragma once

#include <string>

#include "reports/ledger/trend.h"

namespace triodrill::ledger {

std::string TrendText(const Trend& trend, bool colour);
std::string TrendMarkdown(const Trend& trend);
std::string TrendJson(const Trend& trend);
std::string TrendHtml(const Trend& trend);  // a file of its own, in the look of the other reports

// What all of them say, as plain unescaped text.
std::string TrendHeadline(const Trend& trend);
// "kill-one-rank, torchrun, release 2.1 against release 2.0"; with the conditions where they tell rows apart.
std::string TrendTitle(const Trend& trend, const TrendRow& row);
// "regressed", "no worse", "not enough trials", "not compared", "new".
std::string ChangeWord(const TrendRow& row, const TrendMetric& metric);
// Why, or by how much.
std::string ChangeReason(const TrendRow& row, const TrendMetric& metric);
// The two that no test decides, as (label, before, now).
struct TrendLine {
  std::string label, before, now;
};
std::vector<TrendLine> PlainLines(const TrendRow& row);
std::string TrendFootnote(const Trend& trend);

}  // namespace triodrill::ledger
