#include "drills/shadow/workload_kill.h"

#include <dirent.h>
#include <signal.h>

#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "drills/shadow/namespaces.h"
#include "drills/shadow/node_channel.h"
#include "drills/shadow/whole_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

// "" of a process that ends meanwhile.
std::string ReadAll(const std::string& file) { return ReadWholeFile(file).value_or(""); }

std::optional<ProcEntry> ReadProcess(pid_t pid) {
  const std::string directory = Cat("/proc/", pid);
  std::optional<ProcEntry> entry = ParseStat(ReadAll(directory + "/stat"));
  if (entry) entry->agent_side = IsAgentEnvironment(ReadAll(directory + "/environ"));
  return entry;
}

}  // namespace

std::vector<ProcEntry> ReadProcesses() {
  std::vector<ProcEntry> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), &closedir);
  if (directory == nullptr) return found;
  while (const dirent* name = readdir(directory.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(name->d_name, &pid)) continue;
    if (std::optional<ProcEntry> entry = ReadProcess(pid)) found.push_back(*entry);
  }
  return found;
}

int KillWorkload(pid_t agent) {
  int alive = 0;
  for (const ProcEntry& entry : WorkloadProcesses(ReadProcesses(), agent)) {
    const OwnedFd pidfd(PidfdOpen(entry.pid));
    if (!pidfd.valid()) continue;  // gone between the two looks
    // The pid may have been given to another process meanwhile; the pidfd no longer moves.
    const std::optional<ProcEntry> again = ReadProcess(entry.pid);
    if (!again || again->start_time != entry.start_time) continue;
    PidfdSignal(pidfd.get(), SIGKILL);
    ++alive;
  }
  return alive;
}

}  // namespace triodrill::shadow
