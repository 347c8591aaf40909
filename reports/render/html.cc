#include "reports/render/html.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "reports/render/escape.h"
#include "reports/render/html_style.h"
#include "reports/render/lanes.h"
#include "reports/render/number.h"
#include "reports/render/picture.h"
#include "reports/render/sections.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kLongestText = 2000;

std::string Text(std::string_view text) { return HtmlText(text, kLongestText); }

std::string AnswerText(Answer answer) {
  return Cat("<span class=\"answer ", Name(answer), "\">", Name(answer), "</span>");
}

// The verdict's word stands first, and alone is coloured.
std::string Headline(const Verdict& verdict) {
  const size_t blank = verdict.headline.find(' ');
  return Cat("<span class=\"answer ", Name(verdict.answer), "\">", Text(verdict.headline.substr(0, blank)), "</span>",
             blank == std::string::npos ? "" : Text(verdict.headline.substr(blank)));
}

void AppendRows(const std::vector<Row>& rows, std::string& out) {
  out += "<div class=\"wide\"><table><tbody>\n";
  for (const Row& row : rows) {
    Append(out, "<tr><th scope=\"row\">", Text(row.label), "</th><td>", Text(row.text), "</td></tr>\n");
  }
  out += "</tbody></table></div>\n";
}

void AppendHead(const std::vector<std::string_view>& columns, std::string& out) {
  out += "<div class=\"wide\"><table><thead><tr>";
  for (const std::string_view column : columns) Append(out, "<th scope=\"col\">", column, "</th>");
  out += "</tr></thead><tbody>\n";
}

void AppendBlockers(const Verdict& verdict, std::string& out) {
  if (verdict.blockers.empty()) {
    out += "<p class=\"soft\">Nothing blocks.</p>\n";
    return;
  }
  out += "<ul class=\"blockers\">\n";
  for (const std::string& blocker : verdict.blockers) Append(out, "<li>", Text(blocker), "</li>\n");
  out += "</ul>\n";
}

std::string MedianText(const Summary& summary) {
  if (summary.n == 0) return "not measured";
  return summary.p50 ? SpanText(*summary.p50) : "not seen";
}

std::string MedianNote(const Summary& summary) {
  if (summary.n == 0) return "no valid trial";
  return Cat(summary.p50 ? "median of " : "in most of ", CountText(summary.n, "trial", "trials"), ", ",
             summary.censored, " censored");
}

// The trial whose eviction reached farthest speaks for all.
const Isolation* Widest(const Trio& trio) {
  const Isolation* widest = nullptr;
  for (const TrialTrio& trial : trio.trials) {
    if (!trial.valid || !trial.isolation) continue;
    if (widest == nullptr || trial.isolation->level > widest->level) widest = &*trial.isolation;
  }
  return widest;
}

void AppendTile(std::string_view label, std::string_view value, std::string_view note, std::string& out) {
  Append(out, "<div class=\"tile\"><span>", label, "</span><b>", Text(value), "</b><span>", Text(note),
         "</span></div>\n");
}

void AppendTiles(const Trio& trio, const Verdict& verdict, std::string& out) {
  out += "<div class=\"tiles\">\n";
  if (trio.planned_faulted > 0) {
    AppendTile("Detection latency", MedianText(trio.detection_latency), MedianNote(trio.detection_latency), out);
    const Isolation* widest = Widest(trio);
    AppendTile("Isolation granularity", widest == nullptr ? "not measured" : Name(widest->level),
               widest == nullptr         ? "no valid trial"
               : widest->evicted.empty() ? "nothing was evicted"
                                         : Cat("widest of all trials: ", absl::StrJoin(widest->evicted, ", ")),
               out);
    AppendTile("Recovery time", MedianText(trio.recovery_time), MedianNote(trio.recovery_time), out);
  }
  const auto passed = std::count_if(verdict.objectives.begin(), verdict.objectives.end(),
                                    [](const Objective& one) { return one.answer == Answer::kPass; });
  AppendTile(
      "Objectives", Cat(passed, " of ", verdict.objectives.size(), " passed"),
      Cat(trio.false_alarms, " false alarms in ", CountText(trio.sham_trials, "valid sham trial", "valid sham trials")),
      out);
  out += "</div>\n";
}

void AppendObjectives(const Verdict& verdict, std::string& out) {
  out += "<h2>Objectives</h2>\n";
  AppendHead({"objective", "expected", "answer", "measured", "assurance"}, out);
  for (const Objective& objective : verdict.objectives) {
    Append(out, "<tr><th class=\"objective\" scope=\"row\">", Text(objective.name), "</th><td class=\"expected\">",
           Text(objective.expected), "</td><td>", AnswerText(objective.answer), "</td><td class=\"measured\">",
           Text(objective.reason), "</td>");
    Append(out, "<td class=\"assurance\">", Text(AssuranceText(objective)), "</td></tr>\n");
  }
  out +=
      "</tbody></table></div>\n<p class=\"soft\">P(pass) is the share of trials that would pass, supported with 95% "
      "confidence by n of n passed.</p>\n";
}

// What became of one slot, in words.
std::string SlotText(const std::string& slot, const TrialTrio& trial) {
  const auto in = [&](const std::vector<std::string>& slots) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
  std::vector<std::string> said;
  if (trial.isolation && in(trial.isolation->faulted)) said.emplace_back("faulted");
  if (trial.isolation && in(trial.isolation->evicted)) said.emplace_back("evicted");
  if (trial.interruption && in(trial.interruption->restarted)) {
    said.emplace_back("restarted");
  } else if (trial.interruption && in(trial.interruption->interrupted)) {
    said.emplace_back("interrupted");
  }
  if (!in(trial.members)) said.emplace_back(in(trial.serving_after) ? "took over" : "spare");
  return said.empty() ? "unharmed" : absl::StrJoin(said, ", ");
}

// Isolation, drawn on the topology: what each slot of each node went through.
void AppendTopology(const v1::Plan& plan, const TrialTrio& trial, std::string& out) {
  out += "<ul class=\"nodes\">\n";
  for (const v1::Node& node : plan.partition().spec().nodes()) {
    Append(out, "<li>", Text(node.name()), "<ul class=\"slots\">");
    for (int i = 0; i < node.slots(); ++i) {
      const std::string slot = Cat(node.name(), "/", i);
      const std::string said = SlotText(slot, trial);
      Append(out, "<li class=\"", said.find("faulted") == std::string::npos ? "" : "faulted ",
             said.find("evicted") == std::string::npos ? "" : "evicted", "\">", Text(slot), "<small>", said,
             "</small></li>");
    }
    out += "</ul></li>\n";
  }
  out += "</ul>\n";
}

void AppendQuotes(const TrialTrio& trial, std::string& out) {
  std::string quotes;
  const auto quote = [&](std::string_view what, const PipelineReport& report) {
    if (report.raw.empty()) return;
    Append(quotes, "<p>", what, ": <span class=\"quote\">", Text(report.raw), "</span></p>\n");
  };
  if (trial.detected_by) quote("Detected by", *trial.detected_by);
  if (!trial.misattributed.empty()) quote("First misattributed report", trial.misattributed.front());
  if (trial.first_symptom) quote("First symptom", *trial.first_symptom);
  for (const PipelineReport& alarm : trial.false_alarms) quote("False alarm", alarm);
  out += quotes;
}

void AppendTrials(const Reported& run, size_t number, std::string& out) {
  const std::vector<TrialFacts> facts = SplitTrials(*run.plan, *run.timeline);
  for (const TrialTrio& trial : run.trio->trials) {
    Append(out, "<h3>", TrialTitle(trial), "</h3>\n");
    const auto of =
        std::find_if(facts.begin(), facts.end(), [&](const auto& one) { return one.number == trial.trial; });
    const auto lanes = of == facts.end() ? std::nullopt : LanesOf(*run.plan, *of, trial);
    if (lanes) {
      out += TrialPicture(*lanes, Cat("d", number, "-t", trial.trial),
                          Cat("Timeline of trial ", trial.trial, "; its figures stand in the table below"));
      out +=
          "<ul class=\"key\"><li>solid: steps are made</li><li>hatched: the fault is held</li><li>cross: a process "
          "ended</li><li>triangle: one appeared</li><li>band: between the earliest and the latest it can have been</li>"
          "<li>below: steps a second, dashed the baseline</li></ul>\n";
    }
    if (trial.isolation) AppendTopology(*run.plan, trial, out);
    AppendRows(TrialRows(trial), out);
    AppendQuotes(trial, out);
  }
}

// Where there are several trials, how they lie.
void AppendSpread(const Trio& trio, size_t number, std::string& out) {
  const auto draw = [&](std::string_view name, std::string_view id, std::optional<Delay> TrialTrio::*member) {
    std::vector<Bar> bars;
    for (const TrialTrio& trial : trio.trials) {
      if (trial.valid && !trial.masked && trial.*member) bars.push_back({Cat("trial ", trial.trial), *(trial.*member)});
    }
    if (bars.size() < 2) return;
    Append(out, "<h3>", name, ", trial by trial</h3>\n",
           DelaysPicture(bars, Cat("d", number, "-", id), Cat(name, ", trial by trial")),
           "<ul class=\"key\"><li>solid: at least so long</li><li>pale: at most so long</li></ul>\n");
  };
  draw("Detection latency", "detection", &TrialTrio::detection);
  draw("Recovery time", "recovery", &TrialTrio::recovery);
}

void AppendEvidence(const Reported& run, std::string& out) {
  out += "<h2>Evidence</h2>\n";
  AppendHead({"conclusion", "tool", "command, query or log", "cluster", "window"}, out);
  const std::string cluster = Text(run.plan->partition().metadata().name());
  for (const Evidence& row : EvidenceRows(*run.plan, *run.trio)) {
    Append(out, "<tr><th scope=\"row\">", Text(row.conclusion), "</th><td>", Text(row.tool), "</td><td><code>",
           Text(row.source), "</code></td><td>", cluster);
    Append(out, "</td><td>", Text(row.window), "</td></tr>\n");
  }
  Append(out, "</tbody></table></div>\n<p class=\"soft\">Every figure follows from <code>plan.json</code> and ",
         "<code>timeline.jsonl</code> in <code>", Text(run.bundle),
         "</code>: <code>triodrill judge</code> derives them again.</p>\n");
}

void AppendDrill(const Reported& run, size_t number, bool alone, std::string& out) {
  const std::string_view level = alone ? "h1" : "h2";
  Append(out, "<section class=\"drill\" id=\"drill-", number, "\">\n<", level, ">", Headline(*run.verdict), "</", level,
         ">\n");
  if (const std::string& question = run.plan->drill().metadata().question(); !question.empty()) {
    Append(out, "<p class=\"soft\">", Text(question), "</p>\n");
  }
  AppendBlockers(*run.verdict, out);
  AppendTiles(*run.trio, *run.verdict, out);
  AppendObjectives(*run.verdict, out);
  out += "<h2>Trials</h2>\n";
  if (run.trio->trials.size() > 1) AppendRows(SummaryRows(*run.trio), out);
  AppendSpread(*run.trio, number, out);
  AppendTrials(run, number, out);
  out += "<h2>What the figures are good for</h2>\n";
  AppendRows(ScopeRows(*run.plan, *run.trio), out);
  out += "<h2>Run</h2>\n";
  AppendRows(RunRows(*run.plan, *run.trio), out);
  AppendEvidence(run, out);
  out += "</section>\n";
}

// What of the four categories of interruption was drilled, and what was not.
void AppendCategories(const std::vector<Reported>& runs, std::string& out) {
  constexpr std::pair<v1::Category, std::string_view> kCategories[] = {
      {v1::HARDWARE, "hardware"}, {v1::NETWORK, "network"}, {v1::SOFTWARE, "software"}, {v1::DATA, "data"}};
  AppendHead({"category", "drills", "passed", "failed", "inconclusive"}, out);
  for (const auto& [category, name] : kCategories) {
    const auto count = [&runs, category = category](std::optional<Answer> answer) {
      return std::count_if(runs.begin(), runs.end(), [&](const Reported& run) {
        return run.plan->drill().metadata().category() == category && (!answer || run.verdict->answer == *answer);
      });
    };
    const auto drills = count(std::nullopt);
    Append(out, "<tr><th scope=\"row\">", name, "</th><td>",
           drills == 0 ? "none: not drilled" : std::to_string(drills));
    for (const Answer answer : {Answer::kPass, Answer::kFail, Answer::kInconclusive}) {
      Append(out, "</td><td>", drills == 0 ? "" : std::to_string(count(answer)));
    }
    out += "</td></tr>\n";
  }
  out += "</tbody></table></div>\n";
}

// The worst answer speaks for all.
void AppendOverview(const std::vector<Reported>& runs, std::string& out) {
  Answer worst = Answer::kPass;
  size_t passed = 0;
  for (const Reported& run : runs) {
    worst = std::max(worst, run.verdict->answer);
    passed += run.verdict->answer == Answer::kPass ? 1 : 0;
  }
  Append(out, "<h1>", AnswerText(worst), ": ", passed, " of ", runs.size(), " drills passed</h1>\n");
  AppendHead({"drill", "answer", "detection latency", "recovery time", "first blocker"}, out);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Reported& run = runs[i];
    Append(out, "<tr><th scope=\"row\"><a href=\"#drill-", i + 1, "\">", Text(run.verdict->drill), "</a></th><td>",
           AnswerText(run.verdict->answer), "</td><td>", MedianText(run.trio->detection_latency));
    Append(out, "</td><td>", MedianText(run.trio->recovery_time), "</td><td>",
           run.verdict->blockers.empty() ? "" : Text(run.verdict->blockers.front()), "</td></tr>\n");
  }
  out += "</tbody></table></div>\n<p class=\"soft\">Medians of the valid faulted trials of each drill.</p>\n";
  AppendCategories(runs, out);
}

}  // namespace

std::string Html(const std::vector<Reported>& runs) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
  const bool alone = runs.size() == 1;
  Append(out, "<title>", alone ? Text(runs.front().verdict->headline) : Cat("Triodrill: ", runs.size(), " drills"),
         "</title>\n<style>", kHtmlStyle, "</style>\n</head>\n<body>\n<main>\n");
  if (!alone) AppendOverview(runs, out);
  for (size_t i = 0; i < runs.size(); ++i) AppendDrill(runs[i], i + 1, alone, out);
  out += "</main>\n</body>\n</html>\n";
  return out;
}

}  // namespace triodrill
