// Whose process is whose in a node's pid namespace. Pure: from a snapshot of /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace triodrill::shadow {

struct ProcEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 'R';
  uint64_t start_time = 0;  // field 22 of /proc/PID/stat: with the pid, an identity
  bool agent_side = false;  // started with the agent's role in its environment
};

// From the text of /proc/PID/stat; nullopt if it is not one.
std::optional<ProcEntry> ParseStat(std::string_view text);

// Whether the NUL-separated environment marks a process of the agent's side.
bool IsAgentEnvironment(std::string_view environ_text);

// Everything that is neither the node's init, nor the agent, nor started by it. An orphan of a dead agent (its
// guardian, at work on an undo) is told by its environment. A zombie counts until it is reaped: it may be the first
// thread of a process whose other threads are still at work.
std::vector<ProcEntry> WorkloadProcesses(std::span<const ProcEntry> all, pid_t agent);

}  // namespace triodrill::shadow
