// Links, addresses and routes over libnl, in the network namespace of the thread that opens the socket. Each object is
// used on one thread at a time. Reading leaves nothing behind; every change is one request, acknowledged by the kernel.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/text.h"
#include "triodrill/v1/undo.pb.h"

struct nl_sock;
struct nlmsghdr;

namespace triodrill {

// One interface as the kernel reported it.
struct LinkState {
  v1::LinkIdentity identity;
  uint32_t flags = 0;            // IFF_*
  std::string kind;              // "veth", "bridge", "vlan", …; "" for hardware
  int lower_ifindex = 0;         // IFLA_LINK: the interface under it (vlan) or its peer (veth); 0 = none
  bool lower_elsewhere = false;  // … which is in another namespace
  int master_ifindex = 0;        // IFLA_MASTER: the bridge, bond or VRF it is a part of; 0 = none
  uint32_t mtu = 0;
  bool deleted = false;  // RTM_DELLINK: it is gone from this namespace

  bool Up() const;       // IFF_UP: set up by its owner
  bool Running() const;  // IFF_RUNNING: up and with a carrier
};

// A routing socket for requests.
class RouteSocket {
 public:
  static Result<RouteSocket> Open();
  RouteSocket(RouteSocket&&) = default;
  RouteSocket& operator=(RouteSocket&&) = default;

  Result<std::vector<LinkState>> Links();
  // NotFound if there is none.
  Result<LinkState> Link(int ifindex);

  // Sets or clears IFF_UP.
  Status SetUp(int ifindex, bool up);

  // Calls `see` for each message of a dump: RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH, RTM_GETLINK.
  Status Dump(int request, int family, const std::function<void(nlmsghdr*)>& see);

  // Sends one request of `type` with the payload of a message that the kernel dumped before (same layout), with
  // NLM_F_CREATE|NLM_F_EXCL. AlreadyExists if it is there.
  Status AddAgain(int type, std::string_view payload, std::string_view what);

  // The same with any request: its fixed header and attributes as payload, its NLM_F_* beside REQUEST and ACK.
  Status Request(int type, int flags, std::string_view payload, std::string_view operation, std::string_view what);

  // A dump whose request needs more than a family: RTM_GETQDISC and the like.
  Status DumpFor(int request, std::string_view payload, const std::function<void(nlmsghdr*)>& see);

  // The one answer to a request that is no dump: RTM_GETROUTE for one destination.
  Status Ask(int request, std::string_view payload, std::string_view what, const std::function<void(nlmsghdr*)>& see);

 private:
  struct Free {
    void operator()(nl_sock* socket) const;
  };
  explicit RouteSocket(nl_sock* socket) : socket_(socket) {}
  Status Send(int type, int flags, std::string_view payload, std::string_view operation, std::string_view what);
  Status Receive(const std::function<void(nlmsghdr*)>& see, std::string_view operation, std::string_view what);

  std::unique_ptr<nl_sock, Free> socket_;
};

// Changes of links in this namespace, as the kernel announces them (RTNLGRP_LINK).
class LinkMonitor {
 public:
  static Result<std::unique_ptr<LinkMonitor>> Open();
  virtual ~LinkMonitor() = default;

  // Readable when Drain has something.
  virtual int fd() const = 0;

  // What was announced since, oldest first; never blocks. DataLoss if the kernel dropped announcements because nobody
  // read them in time: take a Snapshot then.
  virtual Result<std::vector<LinkState>> Drain() = 0;

  // All links as they are now.
  virtual Result<std::vector<LinkState>> Snapshot() = 0;
};

// Parses an RTM_NEWLINK or RTM_DELLINK.
Result<LinkState> ParseLink(nlmsghdr* message, uint64_t net_namespace_inode);

// The interface called `name` in this namespace, found once: from there on it is its identity that counts.
Result<v1::LinkIdentity> IdentifyLink(std::string_view name);

// "eth0 (index 3, 02:00:…)".
std::string Describe(const v1::LinkIdentity& identity);

// Whether a default route (IPv4 or IPv6, any table but local) goes out over it.
Result<bool> CarriesDefaultRoute(const v1::LinkIdentity& identity);

}  // namespace triodrill
