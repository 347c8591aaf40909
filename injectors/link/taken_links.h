// The links of a node that go down and come back together: which of them may be taken, in which order, and how they
// stand. Used on the injector's thread, or a helper's; holds nothing but the names that the node's policy protects.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/link/netlink.h"
#include "injectors/link/restore.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

using TakenLinks = google::protobuf::RepeatedPtrField<v1::TakenLink>;

// The interfaces (names) that this node's policy protects, for a fault that finds them by itself. Set once, before any
// thread is there, by the program that reads the policy.
void SetProtectedInterfaces(std::vector<std::string> names);
const std::vector<std::string>& ProtectedInterfaces();

struct LinkChoice {
  std::vector<LinkState> taken;     // in the order in which they can be set up: what others stand on comes first
  std::vector<std::string> spared;  // each with the reason
};
// All links but the loopback, those that are down already, those that carry a default route (the node may be looked
// after over them) or that the policy protects, and what these stand on: a VLAN's lower link, a bond's members. Pure.
LinkChoice ChooseLinks(const std::vector<LinkState>& links, const std::set<int>& with_default_route,
                       const std::vector<std::string>& protected_names);

// As they are before they are taken. FailedPrecondition if none may be, or if one could not be put back whole.
Result<TakenLinks> ChooseLinksToTake(RouteSocket& socket, std::string_view kind);

// Nothing is changed if one of them is not there any more.
Status TakeLinksDown(RouteSocket& socket, const TakenLinks& links);

// Sets all of them up, and then puts back what is missing on each, as BringLinkUp does. Goes on after a failure, and
// returns the first one.
Status BringLinksUp(const TakenLinks& links, Nanos within = std::chrono::minutes(1));

struct LinksSeen {
  int there = 0;
  int down = 0;         // of those: neither IFF_UP nor IFF_RUNNING
  std::string another;  // one whose name or index is another's by now; "" if there is none

  bool AllDown() const { return there > 0 && down == there; }
  std::string Text() const;  // "2 of 3 links down"
};
Result<LinksSeen> LookAtLinks(RouteSocket& socket, const TakenLinks& links);

std::string LinksByHand(const TakenLinks& links);

}  // namespace triodrill
