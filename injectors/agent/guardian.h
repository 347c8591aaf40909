// The guardian: triodrill-undo as a child that waits on a pipe for the agent to be gone, however it went, and then
// takes back what is owed. Owned by main, on one thread. If the agent is killed it goes on alone; it needs nothing of
// ours.
#pragma once

#include <sys/types.h>

#include <string>

#include "injectors/os/fd.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::agent {

class Guardian {
 public:
  // Starts `program` --journal `journal` --guard FD in a session of its own, with no signal blocked.
  static Result<Guardian> Start(const std::string& program, const std::string& journal);
  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  // Call it when SIGCHLD came. False: it has ended, and the faults have one net less.
  bool Alive();

  // Closes the pipe and waits for it to end; close the journal first, for it wants to look.
  void Dismiss(Nanos patience);

  pid_t pid() const { return pid_; }

 private:
  Guardian(pid_t pid, UniqueFd child, UniqueFd pipe);

  pid_t pid_;
  UniqueFd child_;  // pidfd
  UniqueFd pipe_;
};

}  // namespace triodrill::agent
