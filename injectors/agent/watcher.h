// Reports what happens to the job's processes and to the links of this node while a coordinator wants to know: pidfds
// for ends, /proc every 50 ms for beginnings, RTNLGRP_LINK for links. One thread of its own; asleep when nobody
// watches. A crash leaves nothing.
#pragma once

#include <functional>
#include <memory>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"

namespace triodrill::agent {

class Watcher {
 public:
  // `say` is called on the watcher's thread; it must not block.
  static Result<std::unique_ptr<Watcher>> Start(Clock& clock, std::function<void(v1::AgentSays)> say);
  virtual ~Watcher() = default;

  // From any thread: what to watch from now on, answered by an Inventory; without a rank process: nothing.
  virtual void Watch(v1::Watch what) = 0;
};

}  // namespace triodrill::agent
