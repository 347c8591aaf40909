#include "injectors/link/taken_links.h"

#include <linux/if.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "injectors/link/link_prior.h"
#include "injectors/os/clock.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

std::vector<std::string>& Protected() {
  static auto* const names = new std::vector<std::string>;
  return *names;
}

// Indices of what a link cannot be without, among `links`.
std::set<int> StandsOn(const LinkState& link, const std::vector<LinkState>& links) {
  std::set<int> indices;
  for (const LinkState& other : links) {
    const int index = other.identity.ifindex();
    const bool lower = !link.lower_elsewhere && link.lower_ifindex == index;
    if ((lower || other.master_ifindex == link.identity.ifindex()) && index != link.identity.ifindex()) {
      indices.insert(index);
    }
  }
  return indices;
}

// Why each of them is spared, by index.
std::map<int, std::string> WhySpared(const std::vector<LinkState>& links, const std::set<int>& with_default_route,
                                     const std::vector<std::string>& protected_names) {
  std::map<int, std::string> why;
  std::vector<const LinkState*> needed;
  for (const LinkState& link : links) {
    const int index = link.identity.ifindex();
    const auto& name = link.identity.name();
    if ((link.flags & IFF_LOOPBACK) != 0) {
      why[index] = "the loopback";
    } else if (!link.Up()) {
      why[index] = "it is down already";
    } else if (with_default_route.contains(index)) {
      why[index] = "the default route goes over it";
      needed.push_back(&link);
    } else if (std::find(protected_names.begin(), protected_names.end(), name) != protected_names.end()) {
      why[index] = "this node's policy protects it";
      needed.push_back(&link);
    }
  }
  for (size_t next = 0; next < needed.size(); ++next) {
    const std::set<int> below = StandsOn(*needed[next], links);
    for (const LinkState& link : links) {
      const int index = link.identity.ifindex();
      if (!below.contains(index) || why.contains(index)) continue;
      why[index] = Cat(needed[next]->identity.name(), " needs it");
      needed.push_back(&link);
    }
  }
  return why;
}

// What fails here fails again where each is put back.
void SetAllUp(RouteSocket& socket, const TakenLinks& links) {
  for (const v1::TakenLink& one : links) {
    const Result<FoundLink> found = FindLink(socket, one.link());
    if (!found.ok() || found->what != FoundLink::kIt || found->link.Up()) continue;
    static_cast<void>(socket.SetUp(one.link().ifindex(), true));
    Step("links: one set up");
  }
}

}  // namespace

void SetProtectedInterfaces(std::vector<std::string> names) { Protected() = std::move(names); }
const std::vector<std::string>& ProtectedInterfaces() { return Protected(); }

LinkChoice ChooseLinks(const std::vector<LinkState>& links, const std::set<int>& with_default_route,
                       const std::vector<std::string>& protected_names) {
  const std::map<int, std::string> why = WhySpared(links, with_default_route, protected_names);
  LinkChoice choice;
  std::vector<LinkState> left;
  for (const LinkState& link : links) {
    const auto spared = why.find(link.identity.ifindex());
    if (spared == why.end()) {
      left.push_back(link);
    } else {
      choice.spared.push_back(Cat(link.identity.name(), ": ", spared->second));
    }
  }
  while (!left.empty()) {
    // The two ends of a pair stand on each other: then the first one goes first.
    auto next =
        std::find_if(left.begin(), left.end(), [&](const LinkState& link) { return StandsOn(link, left).empty(); });
    if (next == left.end()) next = left.begin();
    choice.taken.push_back(*next);
    left.erase(next);
  }
  return choice;
}

Result<TakenLinks> ChooseLinksToTake(RouteSocket& socket, std::string_view kind) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  std::set<int> with_default_route;
  for (const LinkState& link : links) {
    TRIODRILL_ASSIGN_OR_RETURN(const bool carries, CarriesDefaultRoute(link.identity));
    if (carries) with_default_route.insert(link.identity.ifindex());
  }
  const LinkChoice choice = ChooseLinks(links, with_default_route, ProtectedInterfaces());
  if (choice.taken.empty()) {
    return absl::FailedPreconditionError(Cat("prepare ", kind, ": no link of this node may be taken down (",
                                             absl::StrJoin(choice.spared, "; "),
                                             "); choose a node with a data network of its own"));
  }
  TakenLinks taken;
  for (const LinkState& link : choice.taken) {
    const Result<v1::LinkPrior> prior = ReadLinkPrior(socket, link);
    if (!prior.ok()) {
      return absl::FailedPreconditionError(Cat("prepare ", kind, ": ", Describe(link.identity),
                                               " could not be put back whole: ", prior.status().message()));
    }
    v1::TakenLink& one = *taken.Add();
    *one.mutable_link() = link.identity;
    *one.mutable_prior() = *prior;
  }
  return taken;
}

Status TakeLinksDown(RouteSocket& socket, const TakenLinks& links) {
  for (const v1::TakenLink& one : links) TRIODRILL_RETURN_IF_ERROR(FindLinkForSure(socket, one.link()).status());
  Step("links: found");
  // From the top: what stands on others is taken by us, and not by the kernel along with them.
  for (int i = links.size() - 1; i >= 0; --i) {
    TRIODRILL_RETURN_IF_ERROR(socket.SetUp(links[i].link().ifindex(), false));
    Step("links: one set down");
  }
  return Ok();
}

Status BringLinksUp(const TakenLinks& links, Nanos within) {
  const Nanos end = SinceBoot() + within;
  TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
  // All first: one may be another's carrier.
  SetAllUp(socket, links);
  // Twice, for a route on one may name an address of another, which is put back later.
  Status first;
  for (int round = 0; round < (links.size() > 1 ? 2 : 1); ++round) {
    first = Ok();
    for (const v1::TakenLink& one : links) {
      const Nanos left = std::max(end - SinceBoot(), Nanos(0));
      const LinkPatience patience{std::min(left, LinkPatience{}.carrier), std::min(left, LinkPatience{}.whole)};
      first.Update(BringLinkUp(one.link(), one.prior(), patience));
    }
    if (first.ok() || SinceBoot() >= end) break;
  }
  return first;
}

std::string LinksSeen::Text() const {
  if (!another.empty()) return another;
  return there == 0 ? "all of its links are gone" : Cat(down, " of ", there, there == 1 ? " link down" : " links down");
}

Result<LinksSeen> LookAtLinks(RouteSocket& socket, const TakenLinks& links) {
  LinksSeen seen;
  for (const v1::TakenLink& one : links) {
    TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, FindLink(socket, one.link()));
    if (found.what == FoundLink::kAnother) seen.another = found.text;
    if (found.what != FoundLink::kIt) continue;
    ++seen.there;
    if (!found.link.Up() && !found.link.Running()) ++seen.down;
  }
  return seen;
}

std::string LinksByHand(const TakenLinks& links) {
  std::string text;
  for (const v1::TakenLink& one : links) Append(text, text.empty() ? "" : "; ", LinkByHand(one.link(), one.prior()));
  return text;
}

}  // namespace triodrill
