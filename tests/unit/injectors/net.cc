#include "tests/unit/injectors/net.h"

#include <fcntl.h>
#include <linux/if.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bonding.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/link/vlan.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <sched.h>
#include <unistd.h>

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "injectors/link/link_prior.h"
#include "injectors/os/file.h"

namespace triodrill::testing {
namespace {

Status Checked(int error, std::string_view what) {
  return error < 0 ? absl::InternalError(Cat(what, ": ", nl_geterror(error))) : Ok();
}

struct FreeSocket {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
using Socket = std::unique_ptr<nl_sock, FreeSocket>;

Socket Connect() {
  Socket socket(nl_socket_alloc());
  nl_connect(socket.get(), NETLINK_ROUTE);
  return socket;
}

struct Unref {
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};
using Address = std::unique_ptr<nl_addr, Unref>;

Address Parse(const std::string& text) {
  nl_addr* address = nullptr;
  nl_addr_parse(text.c_str(), AF_UNSPEC, &address);
  return Address(address);
}

Result<int> Index(const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const v1::LinkIdentity identity, IdentifyLink(name));
  return identity.ifindex();
}

Status Change(const std::string& name, const std::function<void(rtnl_link*)>& change) {
  const Socket socket = Connect();
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  rtnl_link* was = nullptr;
  TRIODRILL_RETURN_IF_ERROR(Checked(rtnl_link_get_kernel(socket.get(), index, nullptr, &was), name));
  rtnl_link* wanted = rtnl_link_alloc();
  const absl::Cleanup put = [&] {
    rtnl_link_put(was);
    rtnl_link_put(wanted);
  };
  change(wanted);
  return Checked(rtnl_link_change(socket.get(), was, wanted, 0), Cat("change ", name));
}

}  // namespace

Status EnterOwnNetwork() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(user == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0)
    return ErrnoStatus("enter", "a network namespace");
  if (user != 0) {
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, "/proc/self/setgroups", "deny"));
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, "/proc/self/uid_map", Cat("0 ", user, " 1")));
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, "/proc/self/gid_map", Cat("0 ", group, " 1")));
  }
  // Nobody else is on these wires: no need to wait a second for duplicates of each IPv6 address.
  const Status quick = WriteControlFileAt(AT_FDCWD, "/proc/sys/net/ipv6/conf/default/accept_dad", "0");
  return absl::IsNotFound(quick) ? Ok() : quick;
}

Status MakePair(const std::string& name, const std::string& peer) {
  const Socket socket = Connect();
  TRIODRILL_RETURN_IF_ERROR(
      Checked(rtnl_link_veth_add(socket.get(), name.c_str(), peer.c_str(), ::getpid()), Cat("make ", name)));
  TRIODRILL_RETURN_IF_ERROR(SetUp(peer, true));
  return SetUp(name, true);
}

Status DeleteLink(const std::string& name) {
  const Socket socket = Connect();
  rtnl_link* link = rtnl_link_alloc();
  const absl::Cleanup put = [&] { rtnl_link_put(link); };
  rtnl_link_set_name(link, name.c_str());
  return Checked(rtnl_link_delete(socket.get(), link), Cat("delete ", name));
}

Status SetUp(const std::string& name, bool up) {
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  return socket.SetUp(index, up);
}

Status SetMac(const std::string& name, const std::string& mac) {
  const Address address = Parse(mac);
  return Change(name, [&](rtnl_link* link) { rtnl_link_set_addr(link, address.get()); });
}

Status Rename(const std::string& name, const std::string& new_name) {
  return Change(name, [&](rtnl_link* link) { rtnl_link_set_name(link, new_name.c_str()); });
}

Status MakeBridge(const std::string& name, const std::string& port) {
  const Socket socket = Connect();
  TRIODRILL_RETURN_IF_ERROR(Checked(rtnl_link_bridge_add(socket.get(), name.c_str()), Cat("make ", name)));
  TRIODRILL_ASSIGN_OR_RETURN(const int master, Index(name));
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(port));
  return Checked(rtnl_link_enslave_ifindex(socket.get(), master, index), Cat("make ", port, " a port of ", name));
}

Status MakeBond(const std::string& name) {
  const Socket socket = Connect();
  return Checked(rtnl_link_bond_add(socket.get(), name.c_str(), nullptr), Cat("make ", name));
}

Status MakeVlan(const std::string& name, const std::string& lower, int id) {
  const Socket socket = Connect();
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(lower));
  rtnl_link* link = rtnl_link_vlan_alloc();
  const absl::Cleanup put = [&] { rtnl_link_put(link); };
  rtnl_link_set_name(link, name.c_str());
  rtnl_link_set_link(link, index);
  rtnl_link_vlan_set_id(link, static_cast<uint16_t>(id));
  return Checked(rtnl_link_add(socket.get(), link, NLM_F_CREATE), Cat("make ", name));
}

Status AddAddress(const std::string& name, const std::string& text) {
  const Socket socket = Connect();
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  const Address local = Parse(text);
  rtnl_addr* address = rtnl_addr_alloc();
  const absl::Cleanup put = [&] { rtnl_addr_put(address); };
  rtnl_addr_set_ifindex(address, index);
  rtnl_addr_set_local(address, local.get());
  return Checked(rtnl_addr_add(socket.get(), address, 0), Cat("add ", text));
}

Status AddRoute(const std::string& name, const Route& wanted) {
  const Socket socket = Connect();
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  const Address destination = Parse(wanted.destination);
  rtnl_route* route = rtnl_route_alloc();
  const absl::Cleanup put = [&] { rtnl_route_put(route); };
  rtnl_route_set_family(route, static_cast<uint8_t>(nl_addr_get_family(destination.get())));
  rtnl_route_set_dst(route, destination.get());
  rtnl_route_set_table(route, static_cast<uint32_t>(wanted.table));
  rtnl_route_set_protocol(route, 4);  // RTPROT_STATIC
  if (wanted.priority != 0) rtnl_route_set_priority(route, static_cast<uint32_t>(wanted.priority));
  if (wanted.mtu != 0) rtnl_route_set_metric(route, 2, static_cast<unsigned>(wanted.mtu));  // RTAX_MTU
  std::vector<std::string> gateways = {wanted.gateway};
  if (!wanted.also_gateway.empty()) gateways.push_back(wanted.also_gateway);
  for (const std::string& gateway : gateways) {
    rtnl_nexthop* hop = rtnl_route_nh_alloc();
    rtnl_route_nh_set_ifindex(hop, index);
    if (!gateway.empty()) rtnl_route_nh_set_gateway(hop, Parse(gateway).get());
    rtnl_route_add_nexthop(route, hop);
  }
  rtnl_route_set_scope(route, wanted.gateway.empty() ? 253 : 0);  // RT_SCOPE_LINK
  return Checked(rtnl_route_add(socket.get(), route, NLM_F_EXCL), Cat("add route ", wanted.destination));
}

Status AddNeighbour(const std::string& name, const std::string& text, const std::string& mac) {
  const Socket socket = Connect();
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  const Address address = Parse(text);
  const Address physical = Parse(mac);
  rtnl_neigh* neighbour = rtnl_neigh_alloc();
  const absl::Cleanup put = [&] { rtnl_neigh_put(neighbour); };
  rtnl_neigh_set_ifindex(neighbour, index);
  rtnl_neigh_set_dst(neighbour, address.get());
  rtnl_neigh_set_lladdr(neighbour, physical.get());
  rtnl_neigh_set_state(neighbour, 0x80);  // NUD_PERMANENT
  return Checked(rtnl_neigh_add(socket.get(), neighbour, NLM_F_CREATE), Cat("add neighbour ", text));
}

Result<v1::LinkPrior> PriorOf(const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const int index, Index(name));
  TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, socket.Link(index));
  return ReadLinkPrior(socket, link);
}

}  // namespace triodrill::testing
