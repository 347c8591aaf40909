#include "injectors/link/down.h"

#include <linux/if.h>

#include "absl/strings/str_join.h"
#include "injectors/journal/record.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/netlink.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

// How the interface that a record means stands now.
struct Found {
  enum { kIt, kGone, kAnother } what = kIt;
  LinkState link;    // if kIt
  std::string text;  // else
};

// FailedPrecondition in another network namespace, where the same name means another interface.
Result<Found> Find(RouteSocket& socket, const v1::LinkIdentity& identity) {
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t inode, OwnNamespaceInode("net"));
  if (inode != identity.net_namespace_inode()) {
    return absl::FailedPreconditionError(Cat("find ", Describe(identity), ": it is in network namespace ",
                                             identity.net_namespace_inode(), ", this is ", inode,
                                             "; run again inside that namespace"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& link : links) {
    const bool same_index = link.identity.ifindex() == identity.ifindex();
    const bool same_name = link.identity.name() == identity.name();
    if (same_index && same_name && link.identity.mac() == identity.mac()) return Found{Found::kIt, link, ""};
    if (same_index || same_name) {
      return Found{Found::kAnother, {}, Cat("it is ", Describe(link.identity), " now, not ", Describe(identity))};
    }
  }
  return Found{Found::kGone, {}, Cat(Describe(identity), " is gone from this network namespace")};
}

Result<LinkState> FindForSure(RouteSocket& socket, const v1::LinkIdentity& identity) {
  TRIODRILL_ASSIGN_OR_RETURN(Found found, Find(socket, identity));
  if (found.what == Found::kIt) return found.link;
  return absl::NotFoundError(Cat("find interface: ", found.text));
}

std::string FlagsText(const LinkState& link) {
  return Cat("IFF_UP ", link.Up() ? "set" : "clear", ", IFF_RUNNING ", link.Running() ? "set" : "clear");
}

std::string ByHand(const v1::LinkIdentity& identity, const v1::LinkPrior& prior) {
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

class LinkDown final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override;
  Status Apply(const v1::UndoRecord& record) override;
  Status Revert(const v1::UndoRecord& record) override;
  Result<Effect> Inspect(const v1::UndoRecord& record) override;
};

Result<v1::UndoRecord> LinkDown::Prepare(const v1::AimedFault& fault) {
  if (!fault.target().has_link())
    return absl::InvalidArgumentError("prepare link.down: its target is not an interface");
  const v1::LinkIdentity& who = fault.target().link();
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, FindForSure(socket, who));
  const auto refused = [&](std::string_view why) {
    return absl::FailedPreconditionError(Cat("take ", Describe(who), " down: ", why, "; choose another interface"));
  };
  if ((link.flags & IFF_LOOPBACK) != 0) return refused("the loopback is never a target");
  if (!link.Up()) return refused("it is down already");
  // Whoever looks after this machine may be reached over it, and so may the coordinator.
  TRIODRILL_ASSIGN_OR_RETURN(const bool carries_default, CarriesDefaultRoute(who));
  if (carries_default) return refused("the default route goes over it");
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& other : links) {
    if (other.kind == "vlan" && other.lower_ifindex == who.ifindex() && !other.lower_elsewhere) {
      return refused(Cat("VLAN ", other.identity.name(), " stands on it and would lose its routes"));
    }
  }
  TRIODRILL_ASSIGN_OR_RETURN(const v1::LinkPrior prior, ReadLinkPrior(socket, link));
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record,
                             NewUndoRecord(fault, Cat("link/", who.net_namespace_inode(), "/", who.ifindex())));
  *record.mutable_link() = prior;
  record.set_by_hand(ByHand(who, prior));
  return record;
}

Status LinkDown::Apply(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, FindForSure(socket, record.fault().target().link()));
  Step("link: found");
  TRIODRILL_RETURN_IF_ERROR(socket.SetUp(link.identity.ifindex(), false));
  Step("link: set down");
  return Ok();
}

Status LinkDown::Revert(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Ok();
  const v1::LinkIdentity& who = record.fault().target().link();
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const Found found, Find(socket, who));
  if (found.what != Found::kIt) return Ok();
  if (!found.link.Up()) TRIODRILL_RETURN_IF_ERROR(socket.SetUp(who.ifindex(), true));
  Step("link: set up");
  // With a carrier before, one is waited for: the kernel gives IPv6 addresses only then. None is no failure of this
  // undo: the other end may be down.
  if ((record.link().flags() & IFF_RUNNING) != 0) {
    LookUntil(std::chrono::seconds(2), [&] {
      const Result<Found> now = Find(socket, who);
      return !now.ok() || now->what != Found::kIt || now->link.Running();
    });
  }
  // An address that the kernel is still checking for duplicates cannot be a route's source yet: hence again and again.
  Status last;
  std::vector<std::string> missing;
  const bool whole = LookUntil(std::chrono::seconds(5), [&] {
    const Result<v1::LinkPrior> now = ReadLinkPrior(socket, found.link);
    last = now.status();
    if (!now.ok()) return false;
    missing = MissingFrom(record.link(), *now);
    if (missing.empty()) return true;
    last = PutBack(socket, record.link(), *now);
    return false;
  });
  if (whole) return Ok();
  return absl::DeadlineExceededError(
      Cat("put back on ", Describe(who), ": ", absl::StrJoin(missing, ", "), " missing: ", last.message()));
}

Result<Effect> LinkDown::Inspect(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: interfaces begin anew with each boot"};
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  TRIODRILL_ASSIGN_OR_RETURN(const Found found, Find(socket, record.fault().target().link()));
  if (found.what == Found::kGone) return Effect{Presence::kAbsent, found.text};
  if (found.what == Found::kAnother) return Effect{Presence::kForeign, found.text};
  const bool down = !found.link.Up() && !found.link.Running();
  return Effect{down ? Presence::kPresent : Presence::kAbsent, FlagsText(found.link)};
}

}  // namespace

std::unique_ptr<Injector> MakeLinkDown() { return std::make_unique<LinkDown>(); }

v1::Capability ProbeLinkDown() {
  v1::Capability capability;
  capability.set_kind("link.down");
  // Asking for an interface that cannot exist tells "not allowed" from "no such interface" and changes nothing.
  Result<RouteSocket> socket = RouteSocket::Open();
  const Status asked = socket.ok() ? socket->SetUp(0x7fffffff, false) : socket.status();
  const bool allowed = absl::IsNotFound(asked);
  capability.set_possible(allowed);
  capability.set_reason(allowed ? "netlink" : std::string(asked.message()));
  return capability;
}

}  // namespace triodrill
