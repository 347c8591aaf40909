// What the link faults have in common: which interfaces may be touched; and for link.down and link.flap, how one is put
// back whole. Used on the injector's thread; holds nothing.
#pragma once

#include <optional>
#include <string>

#include "injectors/link/netlink.h"
#include "triodrill/injector.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// How the interface that a record means stands now.
struct FoundLink {
  enum { kIt, kGone, kAnother } what = kIt;
  LinkState link;    // if kIt
  std::string text;  // else
};

// FailedPrecondition in another network namespace, where the same name means another interface.
Status CheckNamespaceOf(const v1::LinkIdentity& identity);
Result<FoundLink> FindLink(RouteSocket& socket, const v1::LinkIdentity& identity);
// NotFound unless it is exactly that one.
Result<LinkState> FindLinkForSure(RouteSocket& socket, const v1::LinkIdentity& identity);

// The interface a fault is aimed at. Refuses the loopback, one that is down already, and one that carries a default
// route: the rule that keeps every link fault off the link by which the node is looked after.
Result<LinkState> CheckMayBeFaulted(RouteSocket& socket, const v1::AimedFault& fault);
Status RefuseLink(const v1::AimedFault& fault, std::string_view why);

// … as it was before it is taken down. Refuses also one whose loss could not be taken back whole (a VLAN stands on it,
// a multipath route or one through a nexthop object goes over it).
Result<v1::LinkPrior> CheckMayGoDown(RouteSocket& socket, const v1::AimedFault& fault);

std::string LinkResource(const v1::LinkIdentity& identity);
std::string FlagsText(const LinkState& link);
std::string LinkByHand(const v1::LinkIdentity& identity, const v1::LinkPrior& prior);

// Sets it up, waits for a carrier if it had one, and adds what is missing of `prior`. Ok if the interface is gone or is
// another's by now.
struct LinkPatience {
  Nanos carrier = std::chrono::seconds(2);
  Nanos whole = std::chrono::seconds(5);
};
Status BringLinkUp(const v1::LinkIdentity& identity, const v1::LinkPrior& prior, const LinkPatience& patience = {});

// What a look shows of a fault that takes it down, but for whether it is there.
Result<FoundLink> LookAtLink(const v1::UndoRecord& record, std::optional<Effect>* settled);

}  // namespace triodrill
