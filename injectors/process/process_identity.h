// Processes that cannot be mistaken for others: pid, start time and pid namespace, and a pidfd that was checked against
// them after it was opened. Never a bare pid. Any thread; reads only, except Signal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "injectors/os/fd.h"
#include "triodrill/status.h"
#include "triodrill/text.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// What /proc/PID/stat says.
struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // as in the parentheses: at most 15 bytes, and anything may stand in it, also ')' and spaces
  char state = '?';  // R, S, D, T (stopped), t (traced), Z, X, I
  pid_t parent = 0;
  bool kernel_thread = false;
  uint64_t start_time_ticks = 0;

  bool Dead() const { return state == 'Z' || state == 'X' || state == 'x'; }
};
Result<ProcessStat> ParseProcessStat(std::string_view text);
// NotFound if there is no such process or thread ("PID" or "PID/task/TID").
Result<ProcessStat> ReadProcessStat(std::string_view where);
inline Result<ProcessStat> ReadProcessStat(pid_t pid) { return ReadProcessStat(Cat(pid)); }

// What /proc/PID/status says beyond that. Bit N-1 of a set is signal N.
struct ProcessStatus {
  pid_t thread_group = 0;
  pid_t tracer = 0;
  uint64_t pending = 0;  // of the whole process or of its first thread
  uint64_t blocked = 0;
  uint64_t ignored = 0;

  bool Pending(int signal) const { return (pending >> (signal - 1) & 1) != 0; }
};
Result<ProcessStatus> ParseProcessStatus(std::string_view text);
Result<ProcessStatus> ReadProcessStatus(pid_t pid);

// Arguments of a process joined by one space, from the bytes of /proc/PID/cmdline. Pure.
std::string JoinArguments(std::string_view cmdline);
// "" for a process without any: a kernel thread, a zombie.
Result<std::string> ReadCommandLine(pid_t pid);

// Who `pid` is at this moment, in this thread's pid namespace. NotFound if there is no such process.
Result<v1::ProcessIdentity> IdentifyProcess(pid_t pid);

// "pid 123 (started at tick 4567)".
std::string Describe(const v1::ProcessIdentity& identity);

// An open pidfd of exactly the process named.
class ProcessHandle {
 public:
  // NotFound if it is gone, reaped or its pid belongs to another process by now; FailedPrecondition if the identity was
  // taken in another pid namespace, where the same number means another process. A zombie can still be opened.
  static Result<ProcessHandle> Open(const v1::ProcessIdentity& identity);

  // NotFound if it has ended meanwhile.
  Status Signal(int signal) const;

  // Every thread of it has ended (a zombie has).
  bool Ended() const;

  // Readable once it has ended.
  int fd() const { return fd_.get(); }
  const v1::ProcessIdentity& identity() const { return identity_; }

 private:
  ProcessHandle(UniqueFd fd, v1::ProcessIdentity identity) : fd_(std::move(fd)), identity_(std::move(identity)) {}

  UniqueFd fd_;
  v1::ProcessIdentity identity_;
};

// Whether a fault may be aimed at it at all. Refuses what no drill may touch: init, kernel threads, this process and
// its ancestors, a mere thread, and programs that watch, log in or drill (by name, as a net below the policy of the
// node).
Status CheckMayBeTarget(const v1::ProcessIdentity& identity);

}  // namespace triodrill
