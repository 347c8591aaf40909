// The embedded shadow partition, as the coordinator sees it: a sandbox of namespaces on this machine, kept by the
// program triodrill-shadow. Used on one thread. A crash of the coordinator leaves nothing of a sandbox that lives with
// it (the kernel ends it), and leaves a detached one running; CleanLeftovers settles the journals of a dead one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "coordinator/engines/programs.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::engines {

enum class Lifetime {
  kWithUs,    // ends when this process does, however it ends
  kDetached,  // stays until Down
};

// One program on one node. Pids are the host's.
struct ProgramStatus {
  bool running = false;
  pid_t pid = 0;                 // of the program itself, 0 if it is not running
  std::optional<int> exit_code;  // of its last end: exit code, or -SIGNAL
  int starts = 0;
};

struct NodeStatus {
  std::string name;
  std::string address;
  bool lost = false;  // its init is gone
  pid_t init_pid = 0;
  ProgramStatus agent;
  ProgramStatus workload;
};

struct EngineStatus {
  bool up = false;  // false: no sandbox on this state directory; the rest is empty
  pid_t supervisor_pid = 0;
  bool user_namespace = false;  // built without root
  v1::ShadowSpec spec;
  std::vector<NodeStatus> nodes;
};

class LocalEngine {
 public:
  LocalEngine(Programs programs, std::string state_dir);
  ~LocalEngine();  // does not take the sandbox down: Lifetime decides
  LocalEngine(const LocalEngine&) = delete;
  LocalEngine& operator=(const LocalEngine&) = delete;

  // What the sandbox is to be made of. Pure. InvalidArgument names the node or the placeholder that is wrong.
  static Result<v1::ShadowSpec> Spec(const v1::Partition& partition, const v1::Pipeline& pipeline,
                                     const Programs& programs, const std::string& state_dir);

  // Brings the sandbox and its agents up (not the workload) and returns when it is ready. Attaches to one that is up
  // with the same specification; FailedPrecondition if one with another is, Unavailable if it could not be built.
  Status Up(const v1::ShadowSpec& spec, Lifetime lifetime);

  // True after Up found the sandbox already there: a run that attached leaves it up when it ends.
  bool Attached() const { return attached_; }

  // On every node. Start refuses if it already runs; Stop returns once every process of it is seen gone; stopping what
  // is stopped is fine.
  Status StartWorkload();
  Status StopWorkload();
  Status RestartWorkload();

  // kill_agent is for tests: SIGKILL, and it is started again after a second unless it is to stay down.
  Status RestartAgent(const std::string& node);
  Status KillAgent(const std::string& node, bool stay_down);

  Result<EngineStatus> GetStatus() const;

  // Ends everything and waits for it; fine when nothing is up. Settles the journals afterwards (CleanLeftovers).
  Status Down();

 private:
  Status Spawn(const std::string& spec_file, Lifetime lifetime);
  Status Order(const std::string& verb, const std::string& node, bool stay_down = false);

  Programs programs_;
  std::string state_dir_;
  bool attached_ = false;
  pid_t child_ = 0;  // the supervisor, where we started it
};

// Runs triodrill-undo on each node's journal of a sandbox that is no more, so that what an agent changed outside of it
// (a cgroup) is undone. Fine when there is nothing. An error names the journals that are not settled.
Status CleanLeftovers(const Programs& programs, const std::string& state_dir);

}  // namespace triodrill::engines
