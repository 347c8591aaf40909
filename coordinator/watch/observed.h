// A fact that a watcher has seen, and when it was so on the coordinator's clock. Sequence, trial and the fact's own
// instant are filled in by whoever keeps the timeline.
#pragma once

#include <functional>
#include <vector>

#include "triodrill/time.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

struct Observed {
  v1::Fact fact;
  Instant at;
};

// Called on a watcher's own thread, with at least one.
using ObservedSink = std::function<void(std::vector<Observed>)>;

}  // namespace triodrill::watch
