#include "reports/render/junit.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "reports/render/escape.h"
#include "reports/render/sections.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kLongestText = 2000;
constexpr size_t kTimeWithoutZone = 19;  // "2026-11-29T12:00:00"; the schema wants UTC unsaid

std::string Text(std::string_view text) { return HtmlText(text, kLongestText); }

// One case as it will be written.
struct Case {
  std::string name;
  double seconds = 0;
  Answer answer = Answer::kPass;
  std::string message;
  std::string details;
};

double LengthOf(const RunFacts& run) {
  return std::max(0.0, std::chrono::duration<double>(run.ended.earliest - run.began.latest).count());
}

Case RunCase(const Reported& run) {
  Case one{.name = "run", .seconds = LengthOf(run.trio->run)};
  if (run.verdict->outcome != RunOutcome::kFinished) {
    one.answer = Answer::kInconclusive;
    one.message = Cat("the run is ", Name(run.verdict->outcome));
    if (!run.trio->run.problem.empty()) Append(one.message, ": ", run.trio->run.problem);
    for (const std::string& refusal : run.trio->run.refusals) Append(one.details, refusal, "\n");
  }
  if (!run.verdict->undo_confirmed) {
    one.answer = Answer::kFail;
    one.message = "an undo is not confirmed: something may still be broken";
    for (const std::string& blocker : run.verdict->blockers) Append(one.details, blocker, "\n");
  }
  return one;
}

Case ObjectiveCase(const Objective& objective) {
  Case one{.name = objective.name, .answer = objective.answer, .message = objective.reason};
  Append(one.details, "expected: ", objective.expected, "\nassurance: ", AssuranceText(objective), "\n");
  for (const TrialAnswer& trial : objective.trials) {
    Append(one.details, "trial ", trial.trial, ": ", Name(trial.answer), ": ", trial.reason, "\n");
  }
  return one;
}

// Line by line: each of them is somebody's word.
std::string Lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Append(out, Text(text.substr(0, end)), "\n");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

void AppendCase(const std::string& drill, const Case& one, std::string& out) {
  Append(out, "    <testcase name=\"", Text(one.name), "\" classname=\"", Text(drill), "\" time=\"",
         absl::StrFormat("%.3f", one.seconds), "\"");
  if (one.answer == Answer::kPass) {
    out += "/>\n";
    return;
  }
  const std::string_view element = one.answer == Answer::kFail ? "failure" : "error";
  Append(out, ">\n      <", element, " type=\"", Name(one.answer), "\" message=\"", Text(one.message), "\">");
  Append(out, Lines(one.details), "</", element, ">\n    </testcase>\n");
}

void AppendProperties(const Reported& run, std::string& out) {
  const auto property = [&](std::string_view name, std::string_view value) {
    Append(out, "      <property name=\"", name, "\" value=\"", Text(value), "\"/>\n");
  };
  out += "    <properties>\n";
  property("verdict", Name(run.verdict->answer));
  property("exit_code", std::to_string(static_cast<int>(run.verdict->exit_code)));
  property("run_id", run.trio->run.run_id);
  property("plan_digest", run.trio->run.plan_digest);
  property("pipeline", run.plan->pipeline().metadata().name());
  property("partition", run.plan->partition().metadata().name());
  property("tool_version", run.trio->run.tool_version);
  property("bundle", run.bundle);
  out += "    </properties>\n";
}

void AppendSuite(const Reported& run, size_t id, std::string& out) {
  std::vector<Case> cases = {RunCase(run)};
  for (const Objective& objective : run.verdict->objectives) cases.push_back(ObjectiveCase(objective));
  const auto count = [&](Answer answer) {
    return std::count_if(cases.begin(), cases.end(), [&](const Case& one) { return one.answer == answer; });
  };
  const std::string& host = run.trio->run.host;
  Append(out, "  <testsuite id=\"", id, "\" package=\"triodrill\" name=\"", Text(run.verdict->drill), "\" tests=\"",
         cases.size(), "\" failures=\"", count(Answer::kFail));
  Append(out, "\" errors=\"", count(Answer::kInconclusive), "\" time=\"", absl::StrFormat("%.3f", cases[0].seconds),
         "\" timestamp=\"", Text(std::string_view(run.trio->run.wall_text).substr(0, kTimeWithoutZone)));
  Append(out, "\" hostname=\"", host.empty() ? "localhost" : Text(host), "\">\n");
  AppendProperties(run, out);
  for (const Case& one : cases) AppendCase(run.verdict->drill, one, out);
  Append(out, "    <system-out>", Text(run.verdict->headline), "\n", Text(run.plan->drill().metadata().question()));
  out += "</system-out>\n    <system-err></system-err>\n  </testsuite>\n";
}

}  // namespace

std::string JUnit(const std::vector<Reported>& runs) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (size_t i = 0; i < runs.size(); ++i) AppendSuite(runs[i], i, out);
  out += "</testsuites>\n";
  return out;
}

}  // namespace triodrill
