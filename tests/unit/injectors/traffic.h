// Packets on interfaces of the test's own network namespace, and what stands in their way there.
#pragma once

#include <cstdint>
#include <string>

#include "injectors/os/fd.h"
#include "triodrill/status.h"

namespace triodrill::testing {

// Sends one Ethernet frame with an IPv4 packet out of `name`, past routes and filters.
Status SendFrame(const std::string& name, const std::string& to_mac, const std::string& from, const std::string& to);
// The IPv4 packets that come in over an interface, as they come off the wire: before any filter.
class Tap {
 public:
  explicit Tap(const std::string& name);
  // Whether one from that address came since the last call.
  bool Heard(const std::string& from) const;

 private:
  UniqueFd socket_;
};
// Sends one UDP datagram as any program would. 0 if it went, else the kernel's errno.
int SendDatagram(const std::string& to);

// A root qdisc as somebody would configure it. `handle` is 0x80010000 for "8001:".
Status SetTbf(const std::string& name, uint32_t handle, int bytes_per_s, int burst, int limit);
Status SetFifo(const std::string& name, uint32_t handle, const std::string& kind, int limit);
Status SetHtb(const std::string& name, uint32_t handle);
// A pfifo below that tbf.
Status SetFifoBelow(const std::string& name, uint32_t parent, uint32_t handle);
Status DeleteRootQdisc(const std::string& name);
// Kind, handle and parameters of the root qdisc, by libnl-route's own reading.
std::string RootQdisc(const std::string& name);

Status Nft(const std::string& commands);
// Routes of table main to that destination, each as "type protocol".
std::string RoutesTo(const std::string& destination);
// A blackhole route of somebody else's.
Status AddBlackholeRoute(const std::string& destination, int protocol);
Status DeleteBlackholeRoute(const std::string& destination);

}  // namespace triodrill::testing
