#include "injectors/link/restore.h"

#include <linux/if.h>

#include <optional>
#include <vector>

#include "absl/strings/str_join.h"
#include "injectors/journal/record.h"
#include "injectors/link/link_prior.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {

Status CheckNamespaceOf(const v1::LinkIdentity& identity) {
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("net"));
  if (inode == identity.net_namespace_inode()) return Ok();
  return absl::FailedPreconditionError(Cat("find ", Describe(identity), ": it is in network namespace ",
                                           identity.net_namespace_inode(), ", this is ", inode,
                                           "; run again inside that namespace"));
}

Result<FoundLink> FindLink(RouteSocket& socket, const v1::LinkIdentity& identity) {
  TRIODRILL_RETURN_IF_ERROR(CheckNamespaceOf(identity));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& link : links) {
    const bool same_index = link.identity.ifindex() == identity.ifindex();
    const bool same_name = link.identity.name() == identity.name();
    if (same_index && same_name && link.identity.mac() == identity.mac()) return FoundLink{FoundLink::kIt, link, ""};
    if (same_index || same_name) {
      return FoundLink{
          FoundLink::kAnother, {}, Cat("it is ", Describe(link.identity), " now, not ", Describe(identity))};
    }
  }
  return FoundLink{FoundLink::kGone, {}, Cat(Describe(identity), " is gone from this network namespace")};
}

Result<LinkState> FindLinkForSure(RouteSocket& socket, const v1::LinkIdentity& identity) {
  TRIODRILL_ASSIGN_OR_RETURN(FoundLink found, FindLink(socket, identity));
  if (found.what == FoundLink::kIt) return found.link;
  return absl::NotFoundError(Cat("find interface: ", found.text));
}

std::string FlagsText(const LinkState& link) {
  return Cat("IFF_UP ", link.Up() ? "set" : "clear", ", IFF_RUNNING ", link.Running() ? "set" : "clear");
}

std::string LinkByHand(const v1::LinkIdentity& identity, const v1::LinkPrior& prior) {
  std::string text = Cat("ip link set dev ", identity.name(), " up");
  for (const v1::LinkAddress& address : prior.addresses()) {
    Append(text, "; ip address replace ", address.local(), " dev ", identity.name());
  }
  for (const v1::LinkRoute& route : prior.routes()) {
    if (route.protocol() == 2) continue;  // RTPROT_KERNEL: comes with its address
    Append(text, "; ip ", route.family() == AF_INET6 ? "-6 " : "", "route replace ", route.destination(),
           route.gateway().empty() ? "" : Cat(" via ", route.gateway()), " dev ", identity.name(), " table ",
           route.table());
  }
  return text;
}

std::string LinkResource(const v1::LinkIdentity& identity) {
  return Cat("link/", identity.net_namespace_inode(), "/", identity.ifindex());
}

Result<LinkState> CheckMayBeFaulted(RouteSocket& socket, const v1::AimedFault& fault) {
  if (!fault.target().has_link()) {
    return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": its target is not an interface"));
  }
  const v1::LinkIdentity& who = fault.target().link();
  TRIODRILL_ASSIGN_OR_RETURN(LinkState link, FindLinkForSure(socket, who));
  if ((link.flags & IFF_LOOPBACK) != 0) return RefuseLink(fault, "the loopback is never a target");
  if (!link.Up()) return RefuseLink(fault, "it is down already");
  // Whoever looks after this machine may be reached over it, and so may the coordinator.
  TRIODRILL_ASSIGN_OR_RETURN(const bool carries_default, CarriesDefaultRoute(who));
  if (carries_default) return RefuseLink(fault, "the default route goes over it");
  return link;
}

Status RefuseLink(const v1::AimedFault& fault, std::string_view why) {
  return absl::FailedPreconditionError(
      Cat("prepare ", fault.kind(), " on ", Describe(fault.target().link()), ": ", why, "; choose another interface"));
}

Result<v1::LinkPrior> CheckMayGoDown(RouteSocket& socket, const v1::AimedFault& fault) {
  TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, CheckMayBeFaulted(socket, fault));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& other : links) {
    if (other.kind == "vlan" && other.lower_ifindex == link.identity.ifindex() && !other.lower_elsewhere) {
      return RefuseLink(fault, Cat("VLAN ", other.identity.name(), " stands on it and would lose its routes"));
    }
  }
  return ReadLinkPrior(socket, link);
}

Status BringLinkUp(const v1::LinkIdentity& who, const v1::LinkPrior& prior, const LinkPatience& patience) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, FindLink(socket, who));
  if (found.what != FoundLink::kIt) return Ok();
  if (!found.link.Up()) TRIODRILL_RETURN_IF_ERROR(socket.SetUp(who.ifindex(), true));
  Step("link: set up");
  // With a carrier before, one is waited for: the kernel gives IPv6 addresses only then. None is no failure of this
  // undo: the other end may be down.
  if ((prior.flags() & IFF_RUNNING) != 0) {
    LookUntil(patience.carrier, [&] {
      const Result<FoundLink> now = FindLink(socket, who);
      return !now.ok() || now->what != FoundLink::kIt || now->link.Running();
    });
  }
  // An address that the kernel is still checking for duplicates cannot be a route's source yet: hence again and again.
  Status last;
  std::vector<std::string> missing;
  const bool whole = LookUntil(patience.whole, [&] {
    const Result<v1::LinkPrior> now = ReadLinkPrior(socket, found.link);
    last = now.status();
    if (!now.ok()) return false;
    missing = MissingFrom(prior, *now);
    if (missing.empty()) return true;
    last = PutBack(socket, prior, *now);
    return false;
  });
  if (whole) return Ok();
  return absl::DeadlineExceededError(
      Cat("put back on ", Describe(who), ": ", absl::StrJoin(missing, ", "), " missing: ", last.message()));
}

Result<FoundLink> LookAtLink(const v1::UndoRecord& record, std::optional<Effect>* settled) {
  settled->reset();
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) {
    *settled = Effect{Presence::kAbsent, "recorded on an earlier boot: interfaces begin anew with each boot"};
    return FoundLink{};
  }
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, FindLink(socket, record.fault().target().link()));
  if (found.what == FoundLink::kGone) *settled = Effect{Presence::kAbsent, found.text};
  if (found.what == FoundLink::kAnother) *settled = Effect{Presence::kForeign, found.text};
  return found;
}

}  // namespace triodrill
