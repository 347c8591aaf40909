// node.lost: takes down every link of this node that may be taken, and kills the job's processes on it. One record
// holds what each link was like, so that a node that was lost by half comes back whole. What was killed does not come
// back by an undo. If the process of the injector dies, links stay as they are then until the record is replayed.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses a node none of whose links may be taken, and one of whose links could not be put back whole.
std::unique_ptr<Injector> MakeNodeLost();

// As for link.down.
v1::Capability ProbeNodeLost();

}  // namespace triodrill
