// The agent's end of the stream: dials the coordinator's Unix socket, for ever, and answers its clock probes by itself.
// One thread of its own, the pump. Owned by main. A crash leaves nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"

namespace triodrill::agent {

class Link {
 public:
  // Called on the pump thread; none may block.
  struct Listener {
    std::function<void(Link&)> up;  // a stream is there; the first thing said on it must be Hello
    std::function<void(v1::CoordinatorSays says, TimePoint at)> heard;
    std::function<void(const std::string& why)> down;  // only after `up`
  };

  // `target` is unix:/absolute/path: nothing else is dialled.
  static Result<std::unique_ptr<Link>> Dial(const std::string& target, Clock& clock, Listener listener);

  // Says what is queued (for at most a second), then hangs up. The listener is not called any more once it returns.
  virtual ~Link() = default;

  // From any thread. Dropped while there is no stream, and on a new stream until Hello has been said.
  virtual void Say(v1::AgentSays what) = 0;
};

}  // namespace triodrill::agent
