// The coordinator's end of the streams: agents dial in over one Unix socket, say who they are, and are listened to.
// Owned by whoever runs a drill. One thread of its own, the pump, which also renews the leases and measures the clocks.
// A crash leaves a socket file that nobody listens on (the next Listen replaces it), and agents that revert everything
// once the lease has passed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/fleet/offset.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"

namespace triodrill::fleet {

// What happened on one stream. For one node the order is: kConnected, then any number of kClock and kSaid, then kLost.
struct AgentEvent {
  enum class Kind {
    kConnected,  // `said` is the Hello; the clock has been measured: `offset` is good
    kSaid,       // `said`, except Hello, Heartbeat and ClockReply, which stay in here
    kLost,       // stream broken, or silent for the lease; `problem` says which
    kClock,      // `offset` measured anew; `problem` is not empty if the clock was stepped
  };
  Kind kind = Kind::kSaid;
  std::string node;
  v1::AgentSays said;
  OffsetBounds offset;  // as known at `at`; set in every kind but kLost
  TimePoint at;         // coordinator's clock, taken when the message was read
  std::string problem;
};

struct Options {
  std::string socket_path;         // absolute, at most 107 bytes; its directory must be ours with mode 0700
  std::string run_id;              // sent to every agent
  Nanos lease{0};                  // agents revert everything when they have not heard us for this long
  std::vector<std::string> nodes;  // only these may attach
  Nanos measure_every = std::chrono::seconds(5);
  int exchanges = 16;  // of one measurement, back to back
  int64_t drift_ppb = kDefaultDriftPpb;
};

class Fleet {
 public:
  // `sink` is called on the pump thread; it must not block. `clock` must outlive the fleet and read CLOCK_MONOTONIC.
  static Result<std::unique_ptr<Fleet>> Listen(Options options, Clock& clock, std::function<void(AgentEvent)> sink);

  // Says Goodbye to every agent (they revert what is open and stay), closes, removes the socket. The sink is not called
  // any more once it returns.
  virtual ~Fleet() = default;

  // Queues a message; from any thread. Unavailable if the node is not connected, ResourceExhausted if it does not read.
  virtual Status Send(const std::string& node, v1::CoordinatorSays what) = 0;

  // The node's clock as known now; from any thread.
  virtual Result<OffsetBounds> Offset(const std::string& node) const = 0;

  // Starts a fresh measurement, which ends in a kClock event; from any thread. Worth its while just before arming.
  virtual Status Measure(const std::string& node) = 0;

  virtual std::vector<std::string> Connected() const = 0;
};

}  // namespace triodrill::fleet
