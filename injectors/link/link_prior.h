// What hangs on an interface and goes away with IFF_UP: addresses (IPv6), routes, permanent neighbours. Read before,
// put back after; never touches what is there, nor what came meanwhile.
#pragma once

#include <string>
#include <vector>

#include "injectors/link/netlink.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// Addresses and routes are those that somebody configured: not the table `local`, not what a router announces (both
// come back by themselves), not cached clones. Fails on a multipath route over it and on one through a
// nexthop object: they could not be put back exactly.
Result<v1::LinkPrior> ReadLinkPrior(RouteSocket& socket, const LinkState& link);

// What `before` has and `now` has not, in words.
std::vector<std::string> MissingFrom(const v1::LinkPrior& before, const v1::LinkPrior& now);

// Adds what is missing: addresses first, then routes (those that need no gateway first), then neighbours. Goes on after
// a failure, and returns the first one.
Status PutBack(RouteSocket& socket, const v1::LinkPrior& before, const v1::LinkPrior& now);

}  // namespace triodrill
