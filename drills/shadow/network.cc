#include "drills/shadow/network.h"

#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/socket.h>

#include <memory>
#include <utility>

#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

struct PutLink {
  void operator()(rtnl_link* link) const { rtnl_link_put(link); }
};
struct PutAddress {
  void operator()(rtnl_addr* address) const { rtnl_addr_put(address); }
};
struct PutNetAddress {
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};

// libnl's error codes, as a status.
Status Check(int error, std::string_view operation, std::string_view object) {
  if (error >= 0) return Ok();
  const std::string message = Cat(operation, " ", object, ": ", nl_geterror(error));
  return -error == NLE_PERM || -error == NLE_NOACCESS ? absl::PermissionDeniedError(message)
                                                      : absl::UnavailableError(message);
}

Result<int> IndexOf(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) return ErrnoStatus("look up interface", name);
  return static_cast<int>(index);
}

}  // namespace

Result<Network> Network::Open() {
  nl_sock* socket = nl_socket_alloc();
  if (socket == nullptr) return absl::ResourceExhaustedError("netlink socket: out of memory");
  Network network(socket);
  TRIODRILL_RETURN_IF_ERROR(Check(nl_connect(socket, NETLINK_ROUTE), "connect to", "rtnetlink"));
  return network;
}

Network::Network(Network&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}

Network::~Network() {
  if (socket_ != nullptr) nl_socket_free(socket_);
}

Status Network::AddBridge(const std::string& name) {
  TRIODRILL_RETURN_IF_ERROR(Check(rtnl_link_bridge_add(socket_, name.c_str()), "add bridge", name));
  return SetUp(name);
}

Status Network::AddCable(const std::string& port, const std::string& bridge, const std::string& peer, pid_t peer_pid) {
  TRIODRILL_RETURN_IF_ERROR(
      Check(rtnl_link_veth_add(socket_, port.c_str(), peer.c_str(), peer_pid), "add veth pair", port));
  TRIODRILL_ASSIGN_OR_RETURN(const int bridge_index, IndexOf(bridge));
  TRIODRILL_ASSIGN_OR_RETURN(const int port_index, IndexOf(port));
  TRIODRILL_RETURN_IF_ERROR(
      Check(rtnl_link_enslave_ifindex(socket_, bridge_index, port_index), "put on the bridge the port", port));
  return SetUp(port);
}

Status Network::AddAddress(const std::string& name, const std::string& address_with_prefix) {
  TRIODRILL_ASSIGN_OR_RETURN(const int index, IndexOf(name));
  nl_addr* parsed = nullptr;
  TRIODRILL_RETURN_IF_ERROR(
      Check(nl_addr_parse(address_with_prefix.c_str(), AF_INET, &parsed), "parse address", address_with_prefix));
  const std::unique_ptr<nl_addr, PutNetAddress> local(parsed);
  const std::unique_ptr<rtnl_addr, PutAddress> address(rtnl_addr_alloc());
  if (address == nullptr) return absl::ResourceExhaustedError("add address: out of memory");
  rtnl_addr_set_ifindex(address.get(), index);
  TRIODRILL_RETURN_IF_ERROR(Check(rtnl_addr_set_local(address.get(), local.get()), "set address", address_with_prefix));
  return Check(rtnl_addr_add(socket_, address.get(), 0), "add address", Cat(address_with_prefix, " to ", name));
}

Status Network::SetUp(const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const int index, IndexOf(name));
  const std::unique_ptr<rtnl_link, PutLink> link(rtnl_link_alloc());
  const std::unique_ptr<rtnl_link, PutLink> change(rtnl_link_alloc());
  if (link == nullptr || change == nullptr) return absl::ResourceExhaustedError("set link up: out of memory");
  rtnl_link_set_ifindex(link.get(), index);
  rtnl_link_set_flags(change.get(), IFF_UP);
  return Check(rtnl_link_change(socket_, link.get(), change.get(), 0), "set up interface", name);
}

}  // namespace triodrill::shadow
