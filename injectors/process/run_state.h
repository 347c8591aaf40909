// Whether a process runs or is stopped, and how to let it run again. Shared by the faults that stop processes.
#pragma once

#include <string>

#include "injectors/process/process_identity.h"
#include "triodrill/status.h"

namespace triodrill {

struct RunState {
  bool ended = false;
  int threads = 0;            // living ones
  int stopped = 0;            // … in state T
  int traced = 0;             // … in state t
  bool stop_pending = false;  // a SIGSTOP was sent and not taken yet
  pid_t tracer = 0;           // a debugger holds it

  bool AllStopped() const { return !ended && threads > 0 && stopped == threads; }
  // Some thread is stopped or about to be.
  bool AnyStop() const { return !ended && (stopped > 0 || stop_pending); }
  std::string Text() const;  // "4 of 4 threads stopped"
};

// NotFound never: a process that ends meanwhile is `ended`.
Result<RunState> LookAtRunState(const ProcessHandle& process);

// Sends SIGCONT if a stop is there or on its way, and waits (bounded) until none is. Ok if the process is gone, or was
// running all along: a process that handles SIGCONT gets none that it does not need.
Status LetRun(const v1::ProcessIdentity& identity);

// Refuses a process that is stopped, being stopped or traced already: what was there before could not be given back.
// Returns the letter of /proc/PID/stat.
Result<std::string> CheckRunsFreely(const ProcessHandle& process);

}  // namespace triodrill
