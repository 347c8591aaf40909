#include "tests/unit/injectors/traffic.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/htb.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/route.h>
#include <netlink/route/tc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "injectors/link/nftables.h"
#include "injectors/os/fd.h"
#include "triodrill/text.h"

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

Status Set(const std::string& name, uint32_t parent, uint32_t handle, const std::string& kind,
           const std::function<void(rtnl_qdisc*)>& fill) {
  const Socket socket = Connect();
  rtnl_qdisc* qdisc = rtnl_qdisc_alloc();
  const absl::Cleanup put = [&] { rtnl_qdisc_put(qdisc); };
  rtnl_tc_set_ifindex(TC_CAST(qdisc), static_cast<int>(::if_nametoindex(name.c_str())));
  rtnl_tc_set_parent(TC_CAST(qdisc), parent);
  rtnl_tc_set_handle(TC_CAST(qdisc), handle);
  rtnl_tc_set_kind(TC_CAST(qdisc), kind.c_str());
  fill(qdisc);
  return Checked(rtnl_qdisc_add(socket.get(), qdisc, NLM_F_CREATE | NLM_F_REPLACE), Cat("set ", kind, " on ", name));
}

uint16_t Checksum(const iphdr& header) {
  std::array<uint16_t, sizeof(header) / 2> words{};
  std::memcpy(words.data(), &header, sizeof(header));
  uint32_t sum = 0;
  for (const uint16_t word : words) sum += word;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

Status SendFrame(const std::string& name, const std::string& to_mac, const std::string& from, const std::string& to) {
  struct {
    ether_header ethernet;
    iphdr ip;
    std::array<char, 32> data;
  } __attribute__((packed)) frame{};
  for (size_t i = 0; i < ETH_ALEN; ++i) {
    frame.ethernet.ether_dhost[i] = static_cast<uint8_t>(std::stoi(to_mac.substr(3 * i, 2), nullptr, 16));
  }
  frame.ethernet.ether_type = htons(ETHERTYPE_IP);
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.ttl = 64;
  ip.protocol = 1;  // an ICMP message without a checksum: nobody answers it
  ip.tot_len = htons(sizeof(frame) - sizeof(frame.ethernet));
  ::inet_pton(AF_INET, from.c_str(), &ip.saddr);
  ::inet_pton(AF_INET, to.c_str(), &ip.daddr);
  ip.check = Checksum(ip);
  frame.ip = ip;
  const UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  address.sll_halen = ETH_ALEN;
  const ssize_t sent =
      ::sendto(socket.get(), &frame, sizeof(frame), 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return sent == sizeof(frame) ? Ok() : ErrnoStatus("send a frame over", name);
}

Tap::Tap(const std::string& name)
    : socket_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETHERTYPE_IP))) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETHERTYPE_IP);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

bool Tap::Heard(const std::string& from) const {
  in_addr wanted{};
  ::inet_pton(AF_INET, from.c_str(), &wanted);
  bool heard = false;
  iphdr ip{};
  while (::recv(socket_.get(), &ip, sizeof(ip), MSG_TRUNC) >= static_cast<ssize_t>(sizeof(ip))) {
    heard = heard || ip.saddr == wanted.s_addr;
  }
  return heard;
}

int SendDatagram(const std::string& to) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  ::inet_pton(AF_INET, to.c_str(), &address.sin_addr);
  const ssize_t sent = ::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return sent == 1 ? 0 : errno;
}

Status SetTbf(const std::string& name, uint32_t handle, int bytes_per_s, int burst, int limit) {
  return Set(name, TC_H_ROOT, handle, "tbf", [&](rtnl_qdisc* qdisc) {
    rtnl_qdisc_tbf_set_rate(qdisc, bytes_per_s, burst, 0);
    rtnl_qdisc_tbf_set_limit(qdisc, limit);
  });
}

Status SetFifo(const std::string& name, uint32_t handle, const std::string& kind, int limit) {
  return Set(name, TC_H_ROOT, handle, kind, [&](rtnl_qdisc* qdisc) { rtnl_qdisc_fifo_set_limit(qdisc, limit); });
}

Status SetFifoBelow(const std::string& name, uint32_t parent, uint32_t handle) {
  return Set(name, parent, handle, "pfifo", [](rtnl_qdisc* qdisc) { rtnl_qdisc_fifo_set_limit(qdisc, 7); });
}

Status SetHtb(const std::string& name, uint32_t handle) {
  return Set(name, TC_H_ROOT, handle, "htb", [](rtnl_qdisc* qdisc) { rtnl_htb_set_defcls(qdisc, 1); });
}

Status DeleteRootQdisc(const std::string& name) {
  const Socket socket = Connect();
  rtnl_qdisc* qdisc = rtnl_qdisc_alloc();
  const absl::Cleanup put = [&] { rtnl_qdisc_put(qdisc); };
  rtnl_tc_set_ifindex(TC_CAST(qdisc), static_cast<int>(::if_nametoindex(name.c_str())));
  rtnl_tc_set_parent(TC_CAST(qdisc), TC_H_ROOT);
  return Checked(rtnl_qdisc_delete(socket.get(), qdisc), Cat("delete the root qdisc of ", name));
}

std::string RootQdisc(const std::string& name) {
  const Socket socket = Connect();
  nl_cache* cache = nullptr;
  if (rtnl_qdisc_alloc_cache(socket.get(), &cache) < 0) return "no list";
  const absl::Cleanup free = [&] { nl_cache_free(cache); };
  rtnl_qdisc* qdisc = rtnl_qdisc_get_by_parent(cache, static_cast<int>(::if_nametoindex(name.c_str())), TC_H_ROOT);
  if (qdisc == nullptr) return "none";
  const absl::Cleanup put = [&] { rtnl_qdisc_put(qdisc); };
  const std::string kind = rtnl_tc_get_kind(TC_CAST(qdisc));
  std::string text = Cat(kind, " ", absl::Hex(rtnl_tc_get_handle(TC_CAST(qdisc))));
  if (kind == "tbf") {
    Append(text, " rate ", rtnl_qdisc_tbf_get_rate(qdisc), " burst ", rtnl_qdisc_tbf_get_rate_bucket(qdisc), " limit ",
           rtnl_qdisc_tbf_get_limit(qdisc));
  }
  if (kind == "pfifo" || kind == "bfifo") Append(text, " limit ", rtnl_qdisc_fifo_get_limit(qdisc));
  return text;
}

Status Nft(const std::string& commands) { return RunNftables(commands, "change nftables"); }

std::string RoutesTo(const std::string& destination) {
  const Socket socket = Connect();
  nl_cache* cache = nullptr;
  if (rtnl_route_alloc_cache(socket.get(), AF_UNSPEC, 0, &cache) < 0) return "no list";
  const absl::Cleanup free = [&] { nl_cache_free(cache); };
  std::string text;
  for (nl_object* object = nl_cache_get_first(cache); object != nullptr; object = nl_cache_get_next(object)) {
    auto* route = reinterpret_cast<rtnl_route*>(object);
    std::array<char, 64> spelt{};
    nl_addr2str(rtnl_route_get_dst(route), spelt.data(), spelt.size());
    if (destination != spelt.data() || rtnl_route_get_table(route) != 254) continue;
    Append(text, text.empty() ? "" : ", ", +rtnl_route_get_type(route), " ", +rtnl_route_get_protocol(route));
  }
  return text;
}

namespace {

Status WithBlackholeRoute(const std::string& destination, const std::function<int(nl_sock*, rtnl_route*)>& change) {
  const Socket socket = Connect();
  nl_addr* to = nullptr;
  TRIODRILL_RETURN_IF_ERROR(Checked(nl_addr_parse(destination.c_str(), AF_UNSPEC, &to), destination));
  rtnl_route* route = rtnl_route_alloc();
  const absl::Cleanup put = [&] {
    rtnl_route_put(route);
    nl_addr_put(to);
  };
  rtnl_route_set_family(route, static_cast<uint8_t>(nl_addr_get_family(to)));
  rtnl_route_set_dst(route, to);
  rtnl_route_set_table(route, 254);
  rtnl_route_set_scope(route, 0);
  rtnl_route_set_type(route, 6);  // RTN_BLACKHOLE
  return Checked(change(socket.get(), route), destination);
}

}  // namespace

Status AddBlackholeRoute(const std::string& destination, int protocol) {
  return WithBlackholeRoute(destination, [&](nl_sock* socket, rtnl_route* route) {
    rtnl_route_set_protocol(route, static_cast<uint8_t>(protocol));
    return rtnl_route_add(socket, route, NLM_F_EXCL);
  });
}

Status DeleteBlackholeRoute(const std::string& destination) {
  return WithBlackholeRoute(destination, [](nl_sock* socket, rtnl_route* route) {
    rtnl_route_set_protocol(route, 0);
    return rtnl_route_delete(socket, route, 0);
  });
}

}  // namespace triodrill::testing
