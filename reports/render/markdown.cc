#include "reports/render/markdown.h"

#include "absl/strings/str_cat.h"
#include "reports/render/escape.h"
#include "reports/render/sections.h"

namespace triodrill {
namespace {

constexpr size_t kLongestBlocker = 2000;

void AppendRows(const std::vector<Row>& rows, std::string& out) {
  absl::StrAppend(&out, "| | |\n|---|---|\n");
  for (const Row& row : rows) {
    absl::StrAppend(&out, "| ", MarkdownText(row.label), " | ", MarkdownText(row.text, kLongestBlocker), " |\n");
  }
  absl::StrAppend(&out, "\n");
}

void AppendBlockers(const Verdict& verdict, std::string& out) {
  absl::StrAppend(&out, "## What blocks\n\n");
  if (verdict.blockers.empty()) absl::StrAppend(&out, "Nothing.\n");
  for (const std::string& blocker : verdict.blockers) {
    absl::StrAppend(&out, "- ", MarkdownText(blocker, kLongestBlocker), "\n");
  }
  absl::StrAppend(&out, "\n");
}

void AppendObjectives(const Verdict& verdict, std::string& out) {
  absl::StrAppend(&out,
                  "## Objectives\n\n| objective | expected | answer | measured | assurance |\n|---|---|---|---|---|\n");
  for (const Objective& objective : verdict.objectives) {
    absl::StrAppend(&out, "| ", MarkdownText(objective.name), " | ", MarkdownText(objective.expected), " | ",
                    Name(objective.answer), " | ", MarkdownText(objective.reason, kLongestBlocker), " | ");
    absl::StrAppend(&out, MarkdownText(AssuranceText(objective)), " |\n");
  }
  absl::StrAppend(
      &out, "\nP(pass) is the share of trials that would pass, supported with 95% confidence by n of n passed.\n\n");
}

void AppendEvidence(const v1::Plan& plan, const Trio& trio, std::string& out) {
  absl::StrAppend(&out, "## Evidence\n\n| conclusion | tool | command, query or log | cluster | window |\n",
                  "|---|---|---|---|---|\n");
  const std::string cluster = MarkdownText(plan.partition().metadata().name());
  for (const Evidence& row : EvidenceRows(plan, trio)) {
    absl::StrAppend(&out, "| ", MarkdownText(row.conclusion), " | ", MarkdownText(row.tool), " | ",
                    MarkdownText(row.source), " | ", cluster);
    absl::StrAppend(&out, " | ", MarkdownText(row.window), " |\n");
  }
  absl::StrAppend(&out, "\nEvery figure follows from `plan.json` and `timeline.jsonl` in this directory: ",
                  "`triodrill judge` derives them again. Copies of the logs that were read are in `raw/`.\n");
}

// The lines that the trial's answers rest on, as they were read.
void AppendQuotes(const TrialTrio& trial, std::string& out) {
  const auto quote = [&](const char* what, const PipelineReport& report) {
    if (report.raw.empty()) return;
    absl::StrAppend(&out, "- ", what, ": ", MarkdownText(report.raw), "\n");
  };
  std::string quotes;
  std::swap(quotes, out);
  if (trial.detected_by) quote("detected by", *trial.detected_by);
  if (!trial.misattributed.empty()) quote("first misattributed report", trial.misattributed.front());
  if (trial.first_symptom) quote("first symptom", *trial.first_symptom);
  for (const PipelineReport& alarm : trial.false_alarms) quote("false alarm", alarm);
  std::swap(quotes, out);
  if (!quotes.empty()) absl::StrAppend(&out, quotes, "\n");
}

}  // namespace

std::string Markdown(const v1::Plan& plan, const Trio& trio, const Verdict& verdict) {
  std::string out = absl::StrCat("# ", MarkdownText(verdict.headline, kLongestBlocker), "\n\n");
  AppendBlockers(verdict, out);
  AppendObjectives(verdict, out);
  absl::StrAppend(&out, "## Trio\n\n");
  AppendRows(SummaryRows(trio), out);
  for (const TrialTrio& trial : trio.trials) {
    absl::StrAppend(&out, "### ", TrialTitle(trial), "\n\n");
    AppendRows(TrialRows(trial), out);
    AppendQuotes(trial, out);
  }
  absl::StrAppend(&out, "## What the figures are good for\n\n");
  AppendRows(ScopeRows(plan, trio), out);
  absl::StrAppend(&out, "## Run\n\n");
  AppendRows(RunRows(plan, trio), out);
  AppendEvidence(plan, trio, out);
  return out;
}

}  // namespace triodrill
