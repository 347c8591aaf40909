#include "injectors/link/down.h"

#include "injectors/journal/record.h"
#include "injectors/link/netlink.h"
#include "injectors/link/restore.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

class LinkDown final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const v1::LinkPrior prior, CheckMayGoDown(socket, fault));
    const v1::LinkIdentity& who = fault.target().link();
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, LinkResource(who)));
    *record.mutable_link() = prior;
    record.set_by_hand(LinkByHand(who, prior));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, FindLinkForSure(socket, record.fault().target().link()));
    Step("link: found");
    TRIODRILL_RETURN_IF_ERROR(socket.SetUp(link.identity.ifindex(), false));
    Step("link: set down");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    return BringLinkUp(record.fault().target().link(), record.link());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::optional<Effect> settled;
    TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, LookAtLink(record, &settled));
    if (settled.has_value()) return *settled;
    const bool down = !found.link.Up() && !found.link.Running();
    return Effect{down ? Presence::kPresent : Presence::kAbsent, FlagsText(found.link)};
  }
};

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
