// A network namespace of the test's own, and interfaces in it.
#pragma once

#include <string>

#include "injectors/link/netlink.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill::testing {

// Moves this process, which must have one thread, into a network namespace of its own (and a user namespace, if it is
// not root). It goes with the process.
Status EnterOwnNetwork();

// A pair of interfaces, joined, both up; the kernel takes both away if one is deleted.
Status MakePair(const std::string& name, const std::string& peer);
Status DeleteLink(const std::string& name);
Status SetUp(const std::string& name, bool up);
Status SetMac(const std::string& name, const std::string& mac);
// The interface must be down.
Status Rename(const std::string& name, const std::string& new_name);
// With one interface as its port.
Status MakeBridge(const std::string& name, const std::string& port);
// Without members: it has no carrier.
Status MakeBond(const std::string& name);
Status MakeVlan(const std::string& name, const std::string& lower, int id);
Status AddAddress(const std::string& name, const std::string& address);
struct Route {
  std::string destination;  // "default" is 0.0.0.0/0 or ::/0
  std::string gateway;      // "" = directly
  int table = 254;
  int priority = 0;
  int mtu = 0;
  std::string also_gateway;  // "" = one way only; else a second one, on the same interface
};
Status AddRoute(const std::string& name, const Route& route);
Status AddNeighbour(const std::string& name, const std::string& address, const std::string& mac);

// What is on the interface now.
Result<v1::LinkPrior> PriorOf(const std::string& name);

}  // namespace triodrill::testing
