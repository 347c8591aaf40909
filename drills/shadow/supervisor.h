// The supervisor: the one process that keeps a sandbox alive. Serves its control socket until it is told to go down, by
// a request, a signal, the end of its parent or of the sandbox itself. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "drills/shadow/control_socket.h"
#include "drills/shadow/sandbox.h"
#include "triodrill/exit_code.h"
#include "triodrill/status.h"

namespace triodrill::shadow {

struct SupervisorOptions {
  bool start_workload = false;
  pid_t parent = 0;  // go down when this process, our parent, ends; 0 = do not
};

class Supervisor {
 public:
  Supervisor(v1::ShadowSpec spec, std::vector<std::string> environment, SupervisorOptions options, Clock& clock);

  // From nothing to nothing. Prints events to standard output, errors to standard error.
  ExitCode Run();

 private:
  Status Prepare();
  Status BringUp();
  void Serve();
  void Answer(int client, const std::string& line);
  Status Do(const Request& request);
  bool ToldToGo();

  const v1::ShadowSpec spec_;
  const SupervisorOptions options_;
  Clock& clock_;
  OwnedFd lock_;
  OwnedFd signals_;
  OwnedFd parent_;
  std::vector<int> clients_awaiting_down_;
  bool going_ = false;
  std::optional<ControlSocket> control_;
  Sandbox sandbox_;
};

}  // namespace triodrill::shadow
