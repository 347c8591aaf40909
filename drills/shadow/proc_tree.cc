#include "drills/shadow/proc_tree.h"

#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill::shadow {

std::optional<ProcEntry> ParseStat(std::string_view text) {
  // The command name stands in parentheses and may itself hold any of " ()": the last ')' ends it.
  const size_t open = text.find(" (");
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::vector<absl::string_view> rest = absl::StrSplit(View(text.substr(close + 1)), ' ', absl::SkipEmpty());
  ProcEntry entry;
  if (rest.size() < 20 || rest[0].size() != 1) return std::nullopt;
  entry.state = rest[0][0];
  if (!absl::SimpleAtoi(View(text.substr(0, open)), &entry.pid) || !absl::SimpleAtoi(rest[1], &entry.parent) ||
      !absl::SimpleAtoi(rest[19], &entry.start_time)) {
    return std::nullopt;
  }
  return entry;
}

bool IsAgentEnvironment(std::string_view environ_text) {
  for (const absl::string_view entry : absl::StrSplit(View(environ_text), '\0')) {
    if (entry == "TRIODRILL_SHADOW_ROLE=agent") return true;
  }
  return false;
}

std::vector<ProcEntry> WorkloadProcesses(std::span<const ProcEntry> all, pid_t agent) {
  std::map<pid_t, const ProcEntry*> by_pid;
  for (const ProcEntry& entry : all) by_pid[entry.pid] = &entry;
  const auto of_agent = [&](const ProcEntry& entry) {
    const ProcEntry* at = &entry;
    for (size_t hops = 0; hops <= all.size(); ++hops) {  // a snapshot is not atomic: it may even hold a cycle
      if (at->agent_side || (agent > 0 && at->pid == agent)) return true;
      const auto parent = by_pid.find(at->parent);
      if (parent == by_pid.end() || parent->first == at->pid) return false;
      at = parent->second;
    }
    return false;
  };
  std::vector<ProcEntry> found;
  for (const ProcEntry& entry : all) {
    if (entry.pid != 1 && !of_agent(entry)) found.push_back(entry);
  }
  return found;
}

}  // namespace triodrill::shadow
