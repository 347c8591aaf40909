// link.blackhole: routes of our own that let what the node sends to named destinations vanish.
// If the process of the injector dies, the routes that are there by then stay until the record is replayed.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses what link.down refuses of its interface (but a VLAN on it), a destination that is not reached over that
// interface, one inside which a longer route lies, and one that has a route of the same metric already.
std::unique_ptr<Injector> MakeLinkBlackhole();

v1::Capability ProbeLinkBlackhole();

}  // namespace triodrill
