#include "injectors/link/blackhole.h"

#include "injectors/journal/record.h"
#include "injectors/link/down.h"
#include "injectors/link/restore.h"
#include "injectors/link/route_lookup.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "link.blackhole";

Result<std::vector<NetworkPrefix>> DestinationsOf(const v1::AimedFault& fault) {
  auto destinations = ParseNetworkPrefixes(fault.with().link_blackhole().destinations());
  if (destinations.ok()) return destinations;
  return absl::InvalidArgumentError(Cat("prepare ", kKind, ": destinations: ", destinations.status().message()));
}

Status CheckMayVanish(RouteSocket& socket, const v1::LinkIdentity& link, const NetworkPrefix& destination) {
  TRIODRILL_ASSIGN_OR_RETURN(const RouteMet met, LookUpRoute(socket, destination));
  if (met.what == RouteMet::kOver && met.ifindex == link.ifindex()) return Ok();
  return absl::FailedPreconditionError(Cat("prepare ", kKind, ": ", destination.Text(), " is not reached over ",
                                           Describe(link), ": ", met.text, "; name what lies behind that interface"));
}

class LinkBlackhole final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_RETURN_IF_ERROR(CheckMayBeFaulted(socket, fault).status());
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<NetworkPrefix> destinations, DestinationsOf(fault));
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<RouteThere> there, ReadRoutesTo(socket, destinations));
    std::string by_hand;
    for (size_t i = 0; i < destinations.size(); ++i) {
      const std::string text = destinations[i].Text();
      if (there[i].there) {
        return absl::FailedPreconditionError(Cat("prepare ", kKind, ": there is a route ", text,
                                                 " of the same metric already; name parts of that network"));
      }
      TRIODRILL_RETURN_IF_ERROR(CheckMayVanish(socket, fault.target().link(), destinations[i]));
      Append(by_hand, i == 0 ? "" : "; ", "ip ", destinations[i].family == AF_INET6 ? "-6 " : "",
             "route del blackhole ", text, " proto ", kOurRouteProtocol);
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, LinkResource(fault.target().link())));
    record.mutable_blackhole()->set_protocol(kOurRouteProtocol);
    record.set_by_hand(by_hand);
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_RETURN_IF_ERROR(FindLinkForSure(socket, record.fault().target().link()).status());
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<NetworkPrefix> destinations, DestinationsOf(record.fault()));
    Step("blackhole: found");
    for (const NetworkPrefix& destination : destinations) {
      TRIODRILL_RETURN_IF_ERROR(AddBlackhole(socket, destination));
      Step("blackhole: one route added");
    }
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    // The routes name no interface: they are there whatever became of it.
    TRIODRILL_RETURN_IF_ERROR(CheckNamespaceOf(record.fault().target().link()));
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<NetworkPrefix> destinations, DestinationsOf(record.fault()));
    Status first;
    for (const NetworkPrefix& destination : destinations) {
      first.Update(RemoveBlackhole(socket, destination));
      Step("blackhole: one route removed");
    }
    return first;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: routes begin anew with each boot"};
    TRIODRILL_RETURN_IF_ERROR(CheckNamespaceOf(record.fault().target().link()));
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<NetworkPrefix> destinations, DestinationsOf(record.fault()));
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<RouteThere> there, ReadRoutesTo(socket, destinations));
    size_t ours = 0;
    std::string others;
    for (size_t i = 0; i < there.size(); ++i) {
      if (there[i].ours) ++ours;
      if (there[i].there && !there[i].ours) others = destinations[i].Text();
    }
    if (!others.empty()) return Effect{Presence::kForeign, Cat("the route ", others, " is somebody else's now")};
    const std::string count = Cat(ours, " of ", there.size(), " blackhole routes");
    if (ours == 0) return Effect{Presence::kAbsent, count};
    // A rule or a longer route that came meanwhile may lead round them: then they are there, and nothing vanishes.
    for (size_t i = 0; i < there.size(); ++i) {
      if (!there[i].ours) continue;
      TRIODRILL_ASSIGN_OR_RETURN(const RouteMet met, LookUpRoute(socket, destinations[i]));
      if (met.what == RouteMet::kBlackhole) continue;
      return absl::FailedPreconditionError(
          Cat("look at ", destinations[i].Text(),
              ": the blackhole route is there, and the kernel does not take it: ", met.text));
    }
    return Effect{Presence::kPresent, Cat(count, ", and the kernel's look-up meets them")};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeLinkBlackhole() { return std::make_unique<LinkBlackhole>(); }

v1::Capability ProbeLinkBlackhole() {
  v1::Capability capability = ProbeLinkDown();
  capability.set_kind(kKind);
  return capability;
}

}  // namespace triodrill
