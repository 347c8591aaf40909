#include "injectors/link/netlink.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>

#include <array>

#include "absl/strings/str_join.h"
#include "injectors/os/file.h"

namespace triodrill {
namespace {

Status NetlinkStatus(int error, std::string_view operation, std::string_view object) {
  const std::string text = Cat(operation, " ", object, ": ", nl_geterror(error));
  switch (error < 0 ? -error : error) {
    case NLE_EXIST:
      return absl::AlreadyExistsError(text);
    case NLE_NODEV:
    case NLE_OBJ_NOTFOUND:
      return absl::NotFoundError(text);
    case NLE_PERM:
    case NLE_NOACCESS:
      return absl::PermissionDeniedError(Cat(text, "; CAP_NET_ADMIN is needed in this network namespace"));
    case NLE_INVAL:
      return absl::InvalidArgumentError(text);
    case NLE_DUMP_INTR:
    case NLE_AGAIN:
      return absl::UnavailableError(text);
    default:
      return absl::UnknownError(text);
  }
}

struct FreeMessage {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

struct FreeCallbacks {
  void operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
};

std::string MacText(nlattr* attribute) {
  const auto* bytes = static_cast<const unsigned char*>(nla_data(attribute));
  std::vector<std::string> parts;
  for (int i = 0; i < nla_len(attribute); ++i) parts.push_back(Cat(absl::Hex(bytes[i], absl::kZeroPad2)));
  return absl::StrJoin(parts, ":");
}

int SeeOne(nl_msg* message, void* see) {
  (*static_cast<const std::function<void(nlmsghdr*)>*>(see))(nlmsg_hdr(message));
  return NL_OK;
}

Result<nl_sock*> Connect() {
  nl_sock* socket = nl_socket_alloc();
  if (socket == nullptr) return absl::ResourceExhaustedError("open a routing socket: out of memory");
  const int error = nl_connect(socket, NETLINK_ROUTE);
  if (error == 0) return socket;
  nl_socket_free(socket);
  return NetlinkStatus(error, "open", "a routing socket");
}

}  // namespace

bool LinkState::Up() const { return !deleted && (flags & IFF_UP) != 0; }
bool LinkState::Running() const { return Up() && (flags & IFF_RUNNING) != 0; }

void RouteSocket::Free::operator()(nl_sock* socket) const { nl_socket_free(socket); }

Result<RouteSocket> RouteSocket::Open() {
  TRIODRILL_ASSIGN_OR_RETURN(nl_sock * socket, Connect());
  return RouteSocket(socket);
}

Result<LinkState> ParseLink(nlmsghdr* message, uint64_t net_namespace_inode) {
  std::array<nlattr*, IFLA_MAX + 1> attributes{};
  if (nlmsg_parse(message, sizeof(ifinfomsg), attributes.data(), IFLA_MAX, nullptr) < 0 ||
      attributes[IFLA_IFNAME] == nullptr) {
    return absl::InternalError("parse a link message of the kernel: unexpected form");
  }
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(message));
  LinkState state;
  state.deleted = message->nlmsg_type == RTM_DELLINK;
  state.flags = info->ifi_flags;
  state.identity.set_ifindex(info->ifi_index);
  state.identity.set_name(nla_get_string(attributes[IFLA_IFNAME]));
  if (attributes[IFLA_ADDRESS] != nullptr) state.identity.set_mac(MacText(attributes[IFLA_ADDRESS]));
  state.identity.set_net_namespace_inode(net_namespace_inode);
  if (attributes[IFLA_LINK] != nullptr) state.lower_ifindex = nla_get_s32(attributes[IFLA_LINK]);
  if (attributes[IFLA_MASTER] != nullptr) state.master_ifindex = nla_get_s32(attributes[IFLA_MASTER]);
  if (attributes[IFLA_MTU] != nullptr) state.mtu = nla_get_u32(attributes[IFLA_MTU]);
  state.lower_elsewhere = attributes[IFLA_LINK_NETNSID] != nullptr;
  if (attributes[IFLA_LINKINFO] != nullptr) {
    std::array<nlattr*, IFLA_INFO_MAX + 1> inner{};
    if (nla_parse_nested(inner.data(), IFLA_INFO_MAX, attributes[IFLA_LINKINFO], nullptr) == 0 &&
        inner[IFLA_INFO_KIND] != nullptr) {
      state.kind = nla_get_string(inner[IFLA_INFO_KIND]);
    }
  }
  return state;
}

Status RouteSocket::Dump(int request, int family, const std::function<void(nlmsghdr*)>& see) {
  rtgenmsg body{};
  body.rtgen_family = static_cast<unsigned char>(family);
  return DumpFor(request, {reinterpret_cast<const char*>(&body), sizeof(body)}, see);
}

Status RouteSocket::DumpFor(int request, std::string_view payload, const std::function<void(nlmsghdr*)>& see) {
  TRIODRILL_RETURN_IF_ERROR(Send(request, NLM_F_DUMP, payload, "ask the kernel for", Cat("dump ", request)));
  return Receive(see, "read from the kernel", Cat("dump ", request));
}

Status RouteSocket::Ask(int request, std::string_view payload, std::string_view what,
                        const std::function<void(nlmsghdr*)>& see) {
  TRIODRILL_RETURN_IF_ERROR(Send(request, NLM_F_ACK, payload, "look up", what));
  TRIODRILL_RETURN_IF_ERROR(Receive(see, "look up", what));
  const int error = nl_wait_for_ack(socket_.get());
  return error < 0 ? NetlinkStatus(error, "look up", what) : Ok();
}

Status RouteSocket::Receive(const std::function<void(nlmsghdr*)>& see, std::string_view operation,
                            std::string_view what) {
  const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
  if (!callbacks) return absl::ResourceExhaustedError("read an answer of the kernel: out of memory");
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, &SeeOne, const_cast<std::function<void(nlmsghdr*)>*>(&see));
  const int error = nl_recvmsgs(socket_.get(), callbacks.get());
  return error < 0 ? NetlinkStatus(error, operation, what) : Ok();
}

Result<std::vector<LinkState>> RouteSocket::Links() {
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("net"));
  std::vector<LinkState> links;
  Status trouble;
  TRIODRILL_RETURN_IF_ERROR(Dump(RTM_GETLINK, AF_UNSPEC, [&](nlmsghdr* message) {
    Result<LinkState> link = ParseLink(message, inode);
    if (link.ok()) {
      links.push_back(*std::move(link));
    } else {
      trouble = link.status();
    }
  }));
  if (!trouble.ok()) return trouble;
  return links;
}

Result<LinkState> RouteSocket::Link(int ifindex) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, Links());
  for (const LinkState& link : links) {
    if (link.identity.ifindex() == ifindex) return link;
  }
  return absl::NotFoundError(Cat("look at interface ", ifindex, ": there is none in this network namespace"));
}

Status RouteSocket::SetUp(int ifindex, bool up) {
  const std::string_view operation = up ? "set up" : "set down";
  const std::string object = Cat("interface ", ifindex);
  const Message message(nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK));
  ifinfomsg body{};
  body.ifi_index = ifindex;
  body.ifi_change = IFF_UP;
  body.ifi_flags = up ? IFF_UP : 0;
  if (!message || nlmsg_append(message.get(), &body, sizeof(body), NLMSG_ALIGNTO) < 0) {
    return absl::ResourceExhaustedError(Cat(operation, " ", object, ": out of memory"));
  }
  const int sent = nl_send_auto(socket_.get(), message.get());
  if (sent < 0) return NetlinkStatus(sent, operation, object);
  const int error = nl_wait_for_ack(socket_.get());
  return error < 0 ? NetlinkStatus(error, operation, object) : Ok();
}

Status RouteSocket::AddAgain(int type, std::string_view payload, std::string_view what) {
  return Request(type, NLM_F_CREATE | NLM_F_EXCL, payload, "add", what);
}

Status RouteSocket::Request(int type, int flags, std::string_view payload, std::string_view operation,
                            std::string_view what) {
  TRIODRILL_RETURN_IF_ERROR(Send(type, NLM_F_ACK | flags, payload, operation, what));
  const int error = nl_wait_for_ack(socket_.get());
  return error < 0 ? NetlinkStatus(error, operation, what) : Ok();
}

Status RouteSocket::Send(int type, int flags, std::string_view payload, std::string_view operation,
                         std::string_view what) {
  const Message message(nlmsg_alloc_simple(type, NLM_F_REQUEST | flags));
  std::string body(payload);
  if (!message || nlmsg_append(message.get(), body.data(), body.size(), NLMSG_ALIGNTO) < 0) {
    return absl::ResourceExhaustedError(Cat(operation, " ", what, ": out of memory"));
  }
  const int sent = nl_send_auto(socket_.get(), message.get());
  return sent < 0 ? NetlinkStatus(sent, operation, what) : Ok();
}

namespace {

class KernelLinkMonitor final : public LinkMonitor {
 public:
  KernelLinkMonitor(RouteSocket requests, nl_sock* group, uint64_t inode)
      : requests_(std::move(requests)), group_(group), inode_(inode) {}
  ~KernelLinkMonitor() override { nl_socket_free(group_); }
  KernelLinkMonitor(const KernelLinkMonitor&) = delete;
  KernelLinkMonitor& operator=(const KernelLinkMonitor&) = delete;

  int fd() const override { return nl_socket_get_fd(group_); }

  Result<std::vector<LinkState>> Drain() override {
    alignas(nlmsghdr) std::array<char, 65536> buffer;
    std::vector<LinkState> seen;
    while (true) {
      sockaddr_nl from{};
      socklen_t size = sizeof(from);
      const ssize_t got =
          ::recvfrom(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return seen;
      if (got < 0 && errno == ENOBUFS) {
        return absl::DataLossError("follow link changes: the kernel dropped announcements; take a new snapshot");
      }
      if (got < 0) return ErrnoStatus("follow", "link changes");
      if (from.nl_pid != 0) continue;  // not from the kernel
      int left = static_cast<int>(got);
      for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); nlmsg_ok(message, left);
           message = nlmsg_next(message, &left)) {
        if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
        TRIODRILL_ASSIGN_OR_RETURN(LinkState state, ParseLink(message, inode_));
        seen.push_back(std::move(state));
      }
    }
  }

  Result<std::vector<LinkState>> Snapshot() override { return requests_.Links(); }

 private:
  RouteSocket requests_;
  nl_sock* group_;
  uint64_t inode_;
};

}  // namespace

Result<std::unique_ptr<LinkMonitor>> LinkMonitor::Open() {
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("net"));
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket requests, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(nl_sock * group, Connect());
  auto monitor = std::make_unique<KernelLinkMonitor>(std::move(requests), group, inode);
  nl_socket_set_buffer_size(group, 1 << 20, 0);
  const int error = nl_socket_add_memberships(group, RTNLGRP_LINK, 0);
  if (error < 0) return NetlinkStatus(error, "subscribe to", "link changes");
  return monitor;
}

Result<v1::LinkIdentity> IdentifyLink(std::string_view name) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& link : links) {
    if (link.identity.name() == name) return link.identity;
  }
  return absl::NotFoundError(Cat("identify interface ", name, ": there is none in this network namespace"));
}

std::string Describe(const v1::LinkIdentity& identity) {
  return Cat(identity.name(), " (index ", identity.ifindex(), ", ", identity.mac(), ")");
}

Result<bool> CarriesDefaultRoute(const v1::LinkIdentity& identity) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  bool carries = false;
  TRIODRILL_RETURN_IF_ERROR(socket.Dump(RTM_GETROUTE, AF_UNSPEC, [&](nlmsghdr* message) {
    std::array<nlattr*, RTA_MAX + 1> attributes{};
    if (nlmsg_parse(message, sizeof(rtmsg), attributes.data(), RTA_MAX, nullptr) < 0) return;
    const auto* route = static_cast<const rtmsg*>(nlmsg_data(message));
    if (route->rtm_dst_len != 0 || route->rtm_table == RT_TABLE_LOCAL || route->rtm_type != RTN_UNICAST) return;
    if (attributes[RTA_OIF] != nullptr && static_cast<int>(nla_get_u32(attributes[RTA_OIF])) == identity.ifindex()) {
      carries = true;
    }
    if (attributes[RTA_MULTIPATH] == nullptr) return;
    int left = nla_len(attributes[RTA_MULTIPATH]);
    for (auto* hop = static_cast<rtnexthop*>(nla_data(attributes[RTA_MULTIPATH])); RTNH_OK(hop, left);
         left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
      if (hop->rtnh_ifindex == identity.ifindex()) carries = true;
    }
  }));
  return carries;
}

}  // namespace triodrill
