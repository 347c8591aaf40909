// Routes to given destinations: what the kernel would do with a packet, and blackhole routes of our own. On the thread
// of the socket; changes are one acknowledged request each.
#pragma once

#include <string>
#include <vector>

#include "injectors/link/netlink.h"
#include "triodrill/network_prefix.h"
#include "triodrill/status.h"

namespace triodrill {

// In the routes that this program makes, so that they are told from everybody else's (/etc/iproute2/rt_protos has no
// such number).
inline constexpr int kOurRouteProtocol = 217;

// The route by which the kernel would send to a destination that no longer route inside it takes out.
struct RouteMet {
  enum { kOver, kBlackhole, kInside, kMany, kNone } what = kNone;
  int ifindex = 0;   // kOver
  std::string text;  // for people
};
Result<RouteMet> LookUpRoute(RouteSocket& socket, const NetworkPrefix& destination);

// What of table `main` stands at exactly this destination with the metric that ours has.
struct RouteThere {
  bool there = false;
  bool ours = false;  // a blackhole of our protocol
};
// In the order of the destinations.
Result<std::vector<RouteThere>> ReadRoutesTo(RouteSocket& socket, const std::vector<NetworkPrefix>& destinations);

// AlreadyExists if any is there with our metric.
Status AddBlackhole(RouteSocket& socket, const NetworkPrefix& destination);
// Removes only one that is ours; Ok if there is none.
Status RemoveBlackhole(RouteSocket& socket, const NetworkPrefix& destination);

}  // namespace triodrill
