// One partition in our hands: its lock, its sandbox, the fleet of its agents. Opened once for one drill (`run`) or for
// several in a row (`demo`). A crash of ours leaves nodes that revert within the lease and, unless it was there before
// us, no sandbox.
#pragma once

#include <memory>
#include <string>

#include "coordinator/cli/interrupt.h"
#include "coordinator/cli/voice.h"
#include "coordinator/conduct/inbox.h"
#include "coordinator/conduct/roster.h"
#include "coordinator/engines/local_engine.h"
#include "coordinator/engines/state_dir.h"
#include "coordinator/fleet/fleet.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::cli {

// Agents revert everything when they have not heard the coordinator for this long.
inline constexpr Nanos kLease = std::chrono::seconds(5);

class Session {
 public:
  struct Options {
    v1::Partition partition;
    v1::Pipeline pipeline;
    engines::Programs programs;
    std::string state_dir;
    std::string run_id;
  };

  // Takes the lock, brings the sandbox up (or attaches to one that is up), and waits until every node's agent has
  // attached. Errors: FailedPrecondition (another run or another sandbox is there: refused), Unavailable (it cannot be
  // brought up, an agent does not come), Cancelled (a person interrupted).
  static Result<std::unique_ptr<Session>> Open(Options options, Clock& clock, Voice& voice, Interrupts& interrupts);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Says goodbye to the agents and takes the sandbox down, unless it was there before us. An error names what is left.
  Status Close();

  // Between drills: takes in what agents said meanwhile and lets go of lines that belong to nobody's run. Cancelled if
  // a person interrupted.
  Status Drain();

  // The job runs on every node when it returns; started if it does not. True if it was started.
  Result<bool> EnsureWorkload();

  const Options& options() const { return options_; }
  fleet::Fleet& fleet() { return *fleet_; }
  engines::LocalEngine& engine() { return engine_; }
  conduct::Inbox& inbox() { return inbox_; }
  conduct::Roster& roster() { return roster_; }

 private:
  Session(Options options, std::unique_ptr<engines::PartitionLock> lock, Voice& voice, Interrupts& interrupts);
  Status AwaitAgents(Clock& clock);

  Options options_;
  std::unique_ptr<engines::PartitionLock> lock_;
  Voice& voice_;
  Interrupts& interrupts_;
  conduct::Inbox inbox_;
  conduct::Roster roster_;
  engines::LocalEngine engine_;
  std::unique_ptr<fleet::Fleet> fleet_;  // after the inbox: its sink pushes there
  bool up_ = false;
};

}  // namespace triodrill::cli
