// link.down: clears IFF_UP on one interface, and puts back what the kernel drops with it.
// If the process of the injector dies, the interface stays as it is then until the record is replayed.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses the loopback, an interface that is down already, one that carries a default route, and one whose loss could
// not be taken back whole (a VLAN stands on it, a multipath route or one through a nexthop object goes over it).
std::unique_ptr<Injector> MakeLinkDown();

// Whether this process has CAP_NET_ADMIN in its network namespace.
v1::Capability ProbeLinkDown();

}  // namespace triodrill
