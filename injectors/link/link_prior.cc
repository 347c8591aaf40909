#include "injectors/link/link_prior.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_join.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

using Attributes = std::array<nlattr*, 64>;

// Parses the attributes behind a fixed header of `size` bytes. False if they are malformed.
bool Parse(nlmsghdr* message, int size, Attributes* attributes) {
  attributes->fill(nullptr);
  return nlmsg_parse(message, size, attributes->data(), static_cast<int>(attributes->size()) - 1, nullptr) >= 0;
}

std::string Payload(nlmsghdr* message) {
  return {static_cast<const char*>(nlmsg_data(message)), static_cast<size_t>(nlmsg_datalen(message))};
}

std::string AddressText(int family, nlattr* attribute) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = family == AF_INET ? 4 : 16;
  if (attribute == nullptr || nla_len(attribute) < size) return "";
  return ::inet_ntop(family, nla_data(attribute), text.data(), text.size()) == nullptr ? "" : text.data();
}

// The kernel's own state of an address, not what somebody asked for.
constexpr uint32_t kKernelAddressFlags = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED;

void ReadAddress(nlmsghdr* message, int ifindex, v1::LinkPrior* prior) {
  Attributes attributes;
  const auto* header = static_cast<const ifaddrmsg*>(nlmsg_data(message));
  if (static_cast<int>(header->ifa_index) != ifindex || !Parse(message, sizeof(ifaddrmsg), &attributes)) return;
  const uint32_t flags = attributes[IFA_FLAGS] != nullptr ? nla_get_u32(attributes[IFA_FLAGS]) : header->ifa_flags;
  if (header->ifa_family == AF_INET6 && (flags & IFA_F_PERMANENT) == 0) return;  // announced by a router
  nlattr* local = attributes[IFA_LOCAL] != nullptr ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS];
  v1::LinkAddress& address = *prior->add_addresses();
  address.set_local(Cat(AddressText(header->ifa_family, local), "/", static_cast<int>(header->ifa_prefixlen)));
  address.set_broadcast(AddressText(header->ifa_family, attributes[IFA_BROADCAST]));
  address.set_scope(header->ifa_scope);
  address.set_flags(flags & ~kKernelAddressFlags);
  if (attributes[IFA_LABEL] != nullptr) address.set_label(nla_get_string(attributes[IFA_LABEL]));
  address.set_as_dumped(Payload(message));
}

bool HopsOver(nlattr* multipath, int ifindex) {
  int left = nla_len(multipath);
  for (auto* hop = static_cast<rtnexthop*>(nla_data(multipath)); RTNH_OK(hop, left);
       left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
    if (hop->rtnh_ifindex == ifindex) return true;
  }
  return false;
}

Status ReadRoute(nlmsghdr* message, int ifindex, v1::LinkPrior* prior) {
  Attributes attributes;
  const auto* header = static_cast<const rtmsg*>(nlmsg_data(message));
  if (!Parse(message, sizeof(rtmsg), &attributes)) return Ok();
  const std::string destination = header->rtm_dst_len == 0 ? "default"
                                                           : Cat(AddressText(header->rtm_family, attributes[RTA_DST]),
                                                                 "/", static_cast<int>(header->rtm_dst_len));
  if (attributes[RTA_MULTIPATH] != nullptr && HopsOver(attributes[RTA_MULTIPATH], ifindex)) {
    return absl::FailedPreconditionError(Cat("take interface ", ifindex, " down: multipath route ", destination,
                                             " goes over it and could not be put back"));
  }
  if (attributes[RTA_OIF] == nullptr || static_cast<int>(nla_get_u32(attributes[RTA_OIF])) != ifindex) return Ok();
  const uint32_t table = attributes[RTA_TABLE] != nullptr ? nla_get_u32(attributes[RTA_TABLE]) : header->rtm_table;
  if (table == RT_TABLE_LOCAL || (header->rtm_flags & RTM_F_CLONED) != 0 || header->rtm_protocol == RTPROT_RA)
    return Ok();
  if (attributes[RTA_NH_ID] != nullptr) {
    return absl::FailedPreconditionError(Cat("take interface ", ifindex, " down: route ", destination,
                                             " goes through nexthop object ", nla_get_u32(attributes[RTA_NH_ID]),
                                             ", which the kernel deletes with it and which could not be put back"));
  }
  v1::LinkRoute& route = *prior->add_routes();
  route.set_family(header->rtm_family);
  route.set_destination(destination);
  route.set_gateway(AddressText(header->rtm_family, attributes[RTA_GATEWAY]));
  route.set_source(AddressText(header->rtm_family, attributes[RTA_PREFSRC]));
  route.set_table(table);
  route.set_protocol(header->rtm_protocol);
  route.set_scope(header->rtm_scope);
  route.set_type(header->rtm_type);
  if (attributes[RTA_PRIORITY] != nullptr) route.set_priority(nla_get_u32(attributes[RTA_PRIORITY]));
  rtmsg asked = *header;
  asked.rtm_flags &=
      RTNH_F_ONLINK | RTNH_F_PERVASIVE;  // the others are the kernel's state: dead, link down, off-loaded
  std::string payload = Payload(message);
  std::copy_n(reinterpret_cast<const char*>(&asked), sizeof(asked), payload.begin());
  route.set_as_dumped(payload);
  return Ok();
}

void ReadNeighbour(nlmsghdr* message, int ifindex, v1::LinkPrior* prior) {
  Attributes attributes;
  const auto* header = static_cast<const ndmsg*>(nlmsg_data(message));
  if (header->ndm_ifindex != ifindex || (header->ndm_state & NUD_PERMANENT) == 0) return;
  if (header->ndm_family != AF_INET && header->ndm_family != AF_INET6) return;
  if (!Parse(message, sizeof(ndmsg), &attributes)) return;
  v1::LinkNeighbour& neighbour = *prior->add_neighbours();
  neighbour.set_address(AddressText(header->ndm_family, attributes[NDA_DST]));
  if (attributes[NDA_LLADDR] != nullptr) {
    const auto* bytes = static_cast<const unsigned char*>(nla_data(attributes[NDA_LLADDR]));
    std::vector<std::string> parts;
    for (int i = 0; i < nla_len(attributes[NDA_LLADDR]); ++i)
      parts.push_back(Cat(absl::Hex(bytes[i], absl::kZeroPad2)));
    neighbour.set_mac(absl::StrJoin(parts, ":"));
  }
  neighbour.set_as_dumped(Payload(message));
}

// What makes two of them the same thing to the kernel.
bool Same(const v1::LinkAddress& a, const v1::LinkAddress& b) { return a.local() == b.local(); }
bool Same(const v1::LinkRoute& a, const v1::LinkRoute& b) {
  return a.family() == b.family() && a.destination() == b.destination() && a.gateway() == b.gateway() &&
         a.table() == b.table() && a.priority() == b.priority() && a.type() == b.type();
}
bool Same(const v1::LinkNeighbour& a, const v1::LinkNeighbour& b) {
  return a.address() == b.address() && a.mac() == b.mac();
}

std::string Text(const v1::LinkAddress& address) { return Cat("address ", address.local()); }
std::string Text(const v1::LinkRoute& route) {
  return Cat("route ", route.destination(), route.gateway().empty() ? "" : Cat(" via ", route.gateway()),
             route.table() == RT_TABLE_MAIN ? "" : Cat(" in table ", route.table()));
}
std::string Text(const v1::LinkNeighbour& neighbour) { return Cat("neighbour ", neighbour.address()); }

template <typename T>
std::vector<T> Missing(const google::protobuf::RepeatedPtrField<T>& before,
                       const google::protobuf::RepeatedPtrField<T>& now) {
  std::vector<T> missing;
  for (const T& one : before) {
    if (std::none_of(now.begin(), now.end(), [&](const T& other) { return Same(one, other); })) missing.push_back(one);
  }
  return missing;
}

template <typename T>
Status Add(RouteSocket& socket, int type, const std::vector<T>& missing) {
  Status first;
  for (const T& one : missing) {
    Status added = socket.AddAgain(type, one.as_dumped(), Text(one));
    if (absl::IsAlreadyExists(added)) added = Ok();  // it came back by itself meanwhile
    first.Update(added);
    Step("link: one thing put back");
  }
  return first;
}

}  // namespace

Result<v1::LinkPrior> ReadLinkPrior(RouteSocket& socket, const LinkState& link) {
  const int ifindex = link.identity.ifindex();
  v1::LinkPrior prior;
  prior.set_flags(link.flags);
  TRIODRILL_RETURN_IF_ERROR(
      socket.Dump(RTM_GETADDR, AF_UNSPEC, [&](nlmsghdr* message) { ReadAddress(message, ifindex, &prior); }));
  Status trouble;
  for (const int family : {AF_INET, AF_INET6}) {
    TRIODRILL_RETURN_IF_ERROR(socket.Dump(
        RTM_GETROUTE, family, [&](nlmsghdr* message) { trouble.Update(ReadRoute(message, ifindex, &prior)); }));
    TRIODRILL_RETURN_IF_ERROR(
        socket.Dump(RTM_GETNEIGH, family, [&](nlmsghdr* message) { ReadNeighbour(message, ifindex, &prior); }));
  }
  if (!trouble.ok()) return trouble;
  return prior;
}

std::vector<std::string> MissingFrom(const v1::LinkPrior& before, const v1::LinkPrior& now) {
  std::vector<std::string> texts;
  for (const auto& address : Missing(before.addresses(), now.addresses())) texts.push_back(Text(address));
  for (const auto& route : Missing(before.routes(), now.routes())) texts.push_back(Text(route));
  for (const auto& neighbour : Missing(before.neighbours(), now.neighbours())) texts.push_back(Text(neighbour));
  return texts;
}

Status PutBack(RouteSocket& socket, const v1::LinkPrior& before, const v1::LinkPrior& now) {
  Status first = Add(socket, RTM_NEWADDR, Missing(before.addresses(), now.addresses()));
  std::vector<v1::LinkRoute> routes = Missing(before.routes(), now.routes());
  // A gateway must be reachable before a route may go through it.
  std::stable_partition(routes.begin(), routes.end(),
                        [](const v1::LinkRoute& route) { return route.gateway().empty(); });
  first.Update(Add(socket, RTM_NEWROUTE, routes));
  first.Update(Add(socket, RTM_NEWNEIGH, Missing(before.neighbours(), now.neighbours())));
  return first;
}

}  // namespace triodrill
