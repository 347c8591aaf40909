#include "drills/shadow/control.h"

#include <sys/wait.h>

#include <iterator>

#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

using nlohmann::json;

constexpr struct {
  std::string_view name;
  Action action;
  bool names_node;
} kActions[] = {
    {"status", Action::kStatus, false},
    {"start-workload", Action::kStartWorkload, false},
    {"stop-workload", Action::kStopWorkload, false},
    {"restart-agent", Action::kRestartAgent, true},
    {"kill-agent", Action::kKillAgent, true},
    {"down", Action::kDown, false},
};

// Never throws on bytes that are not UTF-8: they are replaced.
std::string Line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json ProgramJson(const ProgramState& program) {
  json value = {{"running", program.running}, {"pid", program.pid}, {"starts", program.starts}};
  if (program.exit_code) value["exit_code"] = *program.exit_code;
  return value;
}

}  // namespace

Result<Request> ParseRequest(std::string_view line) {
  const json value = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || !value.contains("do") || !value["do"].is_string()) {
    return absl::InvalidArgumentError("control request: not a JSON object with a \"do\"; say {\"do\":\"status\"}");
  }
  const std::string verb = value["do"].get<std::string>();
  for (const auto& row : kActions) {
    if (row.name != verb) continue;
    Request request{.action = row.action, .node = "", .stay_down = false};
    if (row.names_node) {
      if (!value.contains("node") || !value["node"].is_string()) {
        return absl::InvalidArgumentError(Cat("control request ", verb, ": \"node\" is missing; name the node"));
      }
      request.node = value["node"].get<std::string>();
    }
    const auto stay_down = value.find("stay_down");
    if (stay_down != value.end() && !stay_down->is_boolean()) {
      return absl::InvalidArgumentError(Cat("control request ", verb, ": \"stay_down\" must be true or false"));
    }
    request.stay_down = stay_down != value.end() && stay_down->get<bool>();
    return request;
  }
  std::string known;
  for (const auto& row : kActions) Append(known, known.empty() ? "" : ", ", row.name);
  return absl::InvalidArgumentError(Cat("control request: unknown \"do\": \"", verb, "\"; known are ", known));
}

std::string OkReply() { return Line({{"ok", true}}); }

std::string ErrorReply(const Status& status) { return Line({{"ok", false}, {"error", std::string(status.message())}}); }

std::string StatusReply(const v1::ShadowSpec& spec, const std::vector<NodeState>& nodes, pid_t supervisor,
                        bool user_namespace) {
  std::string spec_text;
  json reply = {{"ok", true}, {"supervisor", supervisor}, {"user_namespace", user_namespace}, {"nodes", json::array()}};
  if (google::protobuf::util::MessageToJsonString(spec, &spec_text).ok()) {
    reply["spec"] = json::parse(spec_text, nullptr, /*allow_exceptions=*/false);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const v1::ShadowNode& node = spec.nodes(static_cast<int>(i));
    reply["nodes"].push_back({{"name", node.name()},
                              {"address", node.address()},
                              {"lost", nodes[i].lost},
                              {"init", nodes[i].init_pid},
                              {"agent", ProgramJson(nodes[i].agent)},
                              {"workload", ProgramJson(nodes[i].workload)}});
  }
  return Line(reply);
}

std::string EventLine(std::string_view event, std::string_view node, std::optional<int> exit_code) {
  json line = {{"event", std::string(event)}};
  if (!node.empty()) line["node"] = std::string(node);
  if (exit_code) line["exit_code"] = *exit_code;
  return Line(line);
}

int ExitCodeOf(int wait_status) { return WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status); }

}  // namespace triodrill::shadow
