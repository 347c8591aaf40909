#include "injectors/link/route_lookup.h"

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <memory>

namespace triodrill {
namespace {

struct FreeMessage {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};

// The best there is: nothing that is as long wins over it. IPv6 has no metric 0.
uint32_t OurMetric(const NetworkPrefix& destination) { return destination.family == AF_INET ? 0 : 1; }

size_t Bytes(int family) { return family == AF_INET ? 4 : 16; }

Result<std::string> Payload(const rtmsg& header, const std::array<unsigned char, 16>& address, uint32_t metric) {
  const std::unique_ptr<nl_msg, FreeMessage> message(nlmsg_alloc());
  rtmsg body = header;
  if (!message || nlmsg_put(message.get(), 0, 0, 0, 0, 0) == nullptr ||
      nlmsg_append(message.get(), &body, sizeof(body), NLMSG_ALIGNTO) < 0 ||
      nla_put(message.get(), RTA_DST, static_cast<int>(Bytes(header.rtm_family)), address.data()) < 0 ||
      (metric != 0 && nla_put_u32(message.get(), RTA_PRIORITY, metric) < 0)) {
    return absl::ResourceExhaustedError("write a route message: out of memory");
  }
  nlmsghdr* written = nlmsg_hdr(message.get());
  return std::string(static_cast<const char*>(nlmsg_data(written)), static_cast<size_t>(nlmsg_datalen(written)));
}

rtmsg BlackholeHeader(const NetworkPrefix& destination) {
  rtmsg header{};
  header.rtm_family = static_cast<unsigned char>(destination.family);
  header.rtm_dst_len = static_cast<unsigned char>(destination.length);
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = kOurRouteProtocol;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_BLACKHOLE;
  return header;
}

struct ParsedRoute {
  const rtmsg* header;
  std::array<nlattr*, RTA_MAX + 1> attributes;
};
bool ParseRoute(nlmsghdr* message, ParsedRoute* route) {
  route->attributes.fill(nullptr);
  route->header = static_cast<const rtmsg*>(nlmsg_data(message));
  return nlmsg_parse(message, sizeof(rtmsg), route->attributes.data(), RTA_MAX, nullptr) >= 0;
}

RouteMet Met(const ParsedRoute& route, const NetworkPrefix& destination) {
  const int length = route.header->rtm_dst_len;
  if (route.header->rtm_type == RTN_BLACKHOLE) return {RouteMet::kBlackhole, 0, "a blackhole"};
  if (length > destination.length) return {RouteMet::kInside, 0, Cat("a route of length ", length, " lies inside it")};
  if (route.attributes[RTA_MULTIPATH] != nullptr) return {RouteMet::kMany, 0, "a multipath route leads there"};
  if (route.header->rtm_type != RTN_UNICAST || route.attributes[RTA_OIF] == nullptr) {
    return {RouteMet::kNone, 0, Cat("no interface leads there, but a route of type ", +route.header->rtm_type)};
  }
  const int ifindex = static_cast<int>(nla_get_u32(route.attributes[RTA_OIF]));
  return {RouteMet::kOver, ifindex, Cat("interface ", ifindex, " leads there")};
}

bool Stands(const ParsedRoute& route, const NetworkPrefix& destination) {
  const rtmsg& header = *route.header;
  const auto number = [&](int attribute, uint32_t otherwise) {
    return route.attributes[attribute] != nullptr ? nla_get_u32(route.attributes[attribute]) : otherwise;
  };
  nlattr* to = route.attributes[RTA_DST];
  const size_t bytes = Bytes(destination.family);
  return header.rtm_family == destination.family && header.rtm_dst_len == destination.length && header.rtm_tos == 0 &&
         (header.rtm_flags & RTM_F_CLONED) == 0 && number(RTA_TABLE, header.rtm_table) == RT_TABLE_MAIN &&
         number(RTA_PRIORITY, 0) == OurMetric(destination) && to != nullptr && nla_len(to) >= static_cast<int>(bytes) &&
         std::equal(destination.bytes.begin(), destination.bytes.begin() + static_cast<ptrdiff_t>(bytes),
                    static_cast<const unsigned char*>(nla_data(to)));
}

}  // namespace

Result<RouteMet> LookUpRoute(RouteSocket& socket, const NetworkPrefix& destination) {
  rtmsg header{};
  header.rtm_family = static_cast<unsigned char>(destination.family);
  header.rtm_dst_len = static_cast<unsigned char>(8 * Bytes(destination.family));
  header.rtm_flags = RTM_F_FIB_MATCH;
  RouteMet met;
  const int free_bits = static_cast<int>(8 * Bytes(destination.family)) - destination.length;
  // The first address of a network may be its broadcast address, and the next this node's own: then the one behind it.
  for (int offset = free_bits == 0 ? 0 : 1; offset <= std::min(free_bits, 2); ++offset) {
    auto address = destination.bytes;
    address[Bytes(destination.family) - 1] =
        static_cast<unsigned char>(address[Bytes(destination.family) - 1] + offset);
    TRIODRILL_ASSIGN_OR_RETURN(const std::string payload, Payload(header, address, 0));
    bool local = false;
    met = {};
    const Status asked =
        socket.Ask(RTM_GETROUTE, payload, Cat("the route to ", destination.Text()), [&](nlmsghdr* message) {
          ParsedRoute route;
          if (message->nlmsg_type != RTM_NEWROUTE || !ParseRoute(message, &route)) return;
          local = route.header->rtm_type == RTN_LOCAL;
          met = Met(route, destination);
        });
    // That is how IPv4 says blackhole.
    if (absl::IsInvalidArgument(asked)) return RouteMet{RouteMet::kBlackhole, 0, "a blackhole"};
    if (absl::IsPermissionDenied(asked) || absl::IsResourceExhausted(asked)) return asked;
    if (!asked.ok()) met = {RouteMet::kNone, 0, std::string(asked.message())};
    if (!local) return met;
    met.text = "it is this node's own address";
  }
  return met;
}

Result<std::vector<RouteThere>> ReadRoutesTo(RouteSocket& socket, const std::vector<NetworkPrefix>& destinations) {
  std::vector<RouteThere> there(destinations.size());
  for (const int family : {AF_INET, AF_INET6}) {
    TRIODRILL_RETURN_IF_ERROR(socket.Dump(RTM_GETROUTE, family, [&](nlmsghdr* message) {
      ParsedRoute route;
      if (!ParseRoute(message, &route)) return;
      for (size_t i = 0; i < destinations.size(); ++i) {
        if (!Stands(route, destinations[i])) continue;
        there[i].there = true;
        there[i].ours = route.header->rtm_type == RTN_BLACKHOLE && route.header->rtm_protocol == kOurRouteProtocol;
      }
    }));
  }
  return there;
}

Status AddBlackhole(RouteSocket& socket, const NetworkPrefix& destination) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string payload,
                             Payload(BlackholeHeader(destination), destination.bytes, OurMetric(destination)));
  return socket.AddAgain(RTM_NEWROUTE, payload, Cat("blackhole route ", destination.Text()));
}

Status RemoveBlackhole(RouteSocket& socket, const NetworkPrefix& destination) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string payload,
                             Payload(BlackholeHeader(destination), destination.bytes, OurMetric(destination)));
  const Status removed =
      socket.Request(RTM_DELROUTE, 0, payload, "remove", Cat("blackhole route ", destination.Text()));
  return absl::IsNotFound(removed) ? Ok() : removed;
}

}  // namespace triodrill
