#include "reports/render/terminal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "reports/render/escape.h"
#include "reports/render/origin.h"
#include "reports/render/sections.h"

namespace triodrill {
namespace {

constexpr size_t kLabelWidth = 24;
constexpr size_t kLongestText = 1000;
constexpr const char* kReset = "\x1b[0m";

const char* ColourOf(Answer answer) {
  switch (answer) {
    case Answer::kPass:
      return "\x1b[1;32m";
    case Answer::kInconclusive:
      return "\x1b[1;33m";
    case Answer::kFail:
      return "\x1b[1;31m";
  }
  return "";
}

std::string Coloured(const std::string& text, Answer answer, TerminalStyle style) {
  return style.colour ? absl::StrCat(ColourOf(answer), text, kReset) : text;
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

void AppendRows(const std::vector<Row>& rows, std::string& out) {
  for (const Row& row : rows) {
    absl::StrAppend(&out, "    ", Padded(row.label, kLabelWidth), PlainText(row.text, kLongestText), "\n");
  }
}

// The verdict's word stands first, and alone is coloured.
std::string Headline(const Verdict& verdict, TerminalStyle style) {
  const std::string line = PlainText(verdict.headline, kLongestText);
  const size_t blank = line.find(' ');
  return absl::StrCat(Coloured(line.substr(0, blank), verdict.answer, style),
                      blank == std::string::npos ? "" : line.substr(blank), "\n");
}

void AppendObjectives(const Verdict& verdict, TerminalStyle style, std::string& out) {
  absl::StrAppend(&out, "  objectives\n");
  for (const Objective& objective : verdict.objectives) {
    absl::StrAppend(&out, "    ", Coloured(Padded(Name(objective.answer), 14), objective.answer, style),
                    PlainText(objective.name), " (", PlainText(objective.expected), "): ");
    absl::StrAppend(&out, PlainText(objective.reason, kLongestText), "  [", AssuranceText(objective), "]\n");
  }
}

}  // namespace

std::string TerminalReport(const v1::Plan& plan, const Trio& trio, const Verdict& verdict, const std::string& bundle,
                           TerminalStyle style) {
  std::string out = Headline(verdict, style);
  AppendObjectives(verdict, style, out);
  for (const TrialTrio& trial : trio.trials) {
    absl::StrAppend(&out, "  ", TrialTitle(trial), "\n");
    AppendRows(TrialRows(trial), out);
  }
  if (trio.trials.size() > 1) {
    absl::StrAppend(&out, "  over all trials\n");
    AppendRows(SummaryRows(trio), out);
  }
  absl::StrAppend(&out, "  what the figures are good for\n");
  AppendRows(ScopeRows(plan, trio), out);
  if (const std::vector<Row> approvals = ApprovalRows(trio.run.origin); !approvals.empty()) {
    absl::StrAppend(&out, "  who approved it\n");
    AppendRows(approvals, out);
  }
  if (!bundle.empty()) absl::StrAppend(&out, "  evidence: ", PlainText(bundle, kLongestText), "\n");
  return out;
}

}  // namespace triodrill
