#include "reports/render/sarif.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "reports/evidence/bundle.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "triodrill/schema/yaml.h"
#include "triodrill/text.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestText = 2000;
constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

std::string Text(std::string_view text) { return PlainText(text, kLongestText); }

// A path as a relative or absolute URI reference (RFC 3986).
std::string UriOf(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : absl::StrFormat("%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri.starts_with('/') ? Cat("file://", uri) : uri;
}

// The line that asks for the objective, or the nearest one around it; 0 if the drill's file is not known.
int LineOf(const Reported& run, const Places& places, const Objective& objective) {
  return run.drill_yaml.empty() ? 0 : places.Find(Cat("spec.expect.", objective.name)).line;
}

Json Rule(const Objective& objective) {
  return {{"id", objective.name},
          {"shortDescription", {{"text", Text(Cat("The pipeline keeps the objective ", objective.name, "."))}}},
          {"help", {{"text", Text(Cat("`triodrill explain drill.spec.expect` says what ", objective.name, " asks."))}}},
          {"defaultConfiguration", {{"level", "error"}}}};
}

Json Location(const Reported& run, int line) {
  Json physical = {{"artifactLocation", {{"uri", UriOf(Cat(run.bundle, "/", kDrillFile))}}}};
  if (line > 0) physical["region"] = {{"startLine", line}};
  return {{"physicalLocation", physical}};
}

Json Finding(const Reported& run, const Objective& objective, size_t rule, int line) {
  const bool failed = objective.answer == Answer::kFail;
  const std::string message = Cat(Name(objective.answer), " ", objective.name, " of ", run.verdict->drill,
                                  " (expected: ", objective.expected, "): ", objective.reason);
  return {{"ruleId", objective.name},
          {"ruleIndex", rule},
          {"kind", failed ? "fail" : "open"},
          {"level", failed ? "error" : "none"},
          {"message", {{"text", Text(message)}}},
          {"locations", Json::array({Location(run, line)})},
          // The same objective of the same drill is the same finding in the next run, too.
          {"partialFingerprints", {{"objective/v1", Text(Cat(run.verdict->drill, "/", objective.name))}}},
          {"properties", {{"n", objective.n}, {"passed", objective.passed}}}};
}

Json Invocation(const Reported& run) {
  const bool finished = run.verdict->outcome == RunOutcome::kFinished;
  Json invocation = {{"executionSuccessful", finished && run.verdict->undo_confirmed},
                     {"exitCode", static_cast<int>(run.verdict->exit_code)}};
  if (!run.trio->run.wall_text.empty()) invocation["startTimeUtc"] = Text(run.trio->run.wall_text);
  if (!run.trio->run.host.empty()) invocation["machine"] = Text(run.trio->run.host);
  if (!finished || !run.verdict->undo_confirmed) {
    Json notes = Json::array();
    for (const std::string& blocker : run.verdict->blockers) {
      notes.push_back({{"level", "error"}, {"message", {{"text", Text(blocker)}}}});
    }
    invocation["toolExecutionNotifications"] = notes;
  }
  return invocation;
}

Json Run(const Reported& run) {
  v1::Drill drill;
  Places places;
  std::vector<Diagnostic> problems;  // it was loaded once: what is wrong with it now only costs the line
  if (!run.drill_yaml.empty()) ParseYaml(run.drill_yaml, kDrillFile, drill, places, problems);
  Json rules = Json::array();
  Json results = Json::array();
  for (size_t i = 0; i < run.verdict->objectives.size(); ++i) {
    const Objective& objective = run.verdict->objectives[i];
    rules.push_back(Rule(objective));
    if (objective.answer == Answer::kPass) continue;
    results.push_back(Finding(run, objective, i, LineOf(run, places, objective)));
  }
  return {{"tool",
           {{"driver",
             {{"name", "triodrill"}, {"version", Text(run.trio->run.tool_version)}, {"rules", std::move(rules)}}}}},
          {"automationDetails", {{"id", Text(Cat(run.verdict->drill, "/", run.trio->run.run_id))}}},
          {"invocations", Json::array({Invocation(run)})},
          {"columnKind", "utf16CodeUnits"},
          {"properties",
           {{"verdict", Name(run.verdict->answer)},
            {"headline", Text(run.verdict->headline)},
            {"bundle", Text(run.bundle)}}},
          {"results", std::move(results)}};
}

}  // namespace

std::string Sarif(const std::vector<Reported>& runs) {
  Json list = Json::array();
  for (const Reported& run : runs) list.push_back(Run(run));
  return JsonText({{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", std::move(list)}});
}

}  // namespace triodrill
