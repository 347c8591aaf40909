// What is said on the sandbox's control socket: one JSON object a line. Pure.
//   {"do":"status"}            {"do":"start-workload"}            {"do":"stop-workload"}           {"do":"down"}
//   {"do":"restart-agent","node":"n1"}                            {"do":"kill-agent","node":"n1","stay_down":true}
// Answered by {"ok":true, ...} or {"ok":false,"error":"..."}.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::shadow {

enum class Action { kStatus, kStartWorkload, kStopWorkload, kRestartAgent, kKillAgent, kDown };

struct Request {
  Action action = Action::kStatus;
  std::string node;
  bool stay_down = false;
};

Result<Request> ParseRequest(std::string_view line);

// One program on one node, as the supervisor knows it; pids are the host's.
struct ProgramState {
  bool running = false;
  pid_t pid = 0;
  std::optional<int> exit_code;  // of its last end: exit code, or -SIGNAL
  int starts = 0;
};

struct NodeState {
  bool ready = false;
  bool lost = false;  // its init is gone
  pid_t init_pid = 0;
  ProgramState agent;
  ProgramState workload;
};

// Lines without the newline.
std::string OkReply();
std::string ErrorReply(const Status& status);
std::string StatusReply(const v1::ShadowSpec& spec, const std::vector<NodeState>& nodes, pid_t supervisor,
                        bool user_namespace);
std::string EventLine(std::string_view event, std::string_view node = "", std::optional<int> exit_code = std::nullopt);

// exit code, or -SIGNAL, from a wait status.
int ExitCodeOf(int wait_status);

}  // namespace triodrill::shadow
