#include "injectors/link/root_qdisc.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "injectors/journal/record.h"
#include "injectors/link/qdisc.h"
#include "injectors/link/restore.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

// What sends on one interface.
struct Tree {
  Qdisc root;
  std::vector<Qdisc> below;  // also the kernel's own of each queue, below mq
};

Result<Tree> ReadTree(RouteSocket& socket, const v1::LinkIdentity& link) {
  Tree tree;
  Status trouble;
  TRIODRILL_RETURN_IF_ERROR(socket.DumpFor(RTM_GETQDISC, QdiscDumpRequest(link.ifindex(), 0), [&](nlmsghdr* message) {
    Result<Qdisc> qdisc = ParseQdisc(message);
    trouble.Update(qdisc.status());
    if (!qdisc.ok() || qdisc->ifindex != link.ifindex() || qdisc->IsIngress()) return;
    if (qdisc->IsRoot()) {
      tree.root = *std::move(qdisc);
    } else {
      tree.below.push_back(*std::move(qdisc));
    }
  }));
  if (!trouble.ok()) return trouble;
  if (!tree.root.kind.empty()) return tree;
  return absl::NotFoundError(Cat("look at the root qdisc of ", Describe(link), ": the kernel lists none"));
}

bool SomebodysBelow(const Tree& tree) {
  return std::any_of(tree.below.begin(), tree.below.end(), [](const Qdisc& one) { return one.handle != 0; });
}

// "" if it can be put back exactly.
std::string WhyNotPutBack(const Tree& tree) {
  if (tree.root.handle == 0 && !SomebodysBelow(tree)) return "";
  if (!tree.below.empty()) return Cat("its root qdisc ", tree.root.Text(), " has others below it");
  if (AsTcIsTold(tree.root).empty()) return Cat("its root qdisc is ", tree.root.Text());
  if (tree.root.more) return Cat("its root qdisc ", tree.root.Text(), " has a size table, a block or an off-load");
  return "";
}

bool IsPrior(const Tree& tree, const v1::QdiscPrior& prior) {
  return tree.root.handle == prior.handle() && tree.root.kind == prior.kind() && tree.root.options == prior.options() &&
         !SomebodysBelow(tree);
}

// InvalidArgument: the kernel has it, and misses its options. NotFound: it has none.
Status AskForKind(RouteSocket& socket, std::string_view qdisc) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<LinkState> links, socket.Links());
  for (const LinkState& link : links) {
    if ((link.flags & IFF_LOOPBACK) == 0) continue;
    const uint32_t handle = 0x7fff0000;
    return socket.Request(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
                          RootQdiscRequest(link.identity.ifindex(), handle, qdisc, ""), "ask for", qdisc);
  }
  return absl::UnavailableError(Cat("ask for ", qdisc, ": there is no loopback to ask on"));
}

Status CheckKind(RouteSocket& socket, std::string_view qdisc) {
  Status asked = AskForKind(socket, qdisc);
  if (absl::IsInvalidArgument(asked)) return Ok();
  if (absl::IsNotFound(asked)) {
    return absl::UnimplementedError(Cat("this kernel has no ", qdisc, " (sch_", qdisc, "); load or build that module"));
  }
  return asked.ok() ? absl::InternalError(Cat("ask for ", qdisc, ": a qdisc without options was taken")) : asked;
}

// One that nobody else has on this interface; below those that the kernel gives (8001: and on).
uint32_t OurHandle(const v1::AimedFault& fault, const Tree& tree) {
  uint32_t hash = 0;
  for (const char c : Cat(fault.run_id(), "/", fault.shot())) hash = hash * 31 + static_cast<unsigned char>(c);
  const auto taken = [&](uint32_t handle) {
    return tree.root.handle == handle ||
           std::any_of(tree.below.begin(), tree.below.end(), [&](const Qdisc& one) { return one.handle == handle; });
  };
  while (true) {
    const uint32_t handle = (0x7000 | (hash++ & 0xffe)) << 16;
    if (!taken(handle)) return handle;
  }
}

std::string ByHand(const v1::LinkIdentity& link, const Tree& tree) {
  if (tree.root.handle == 0) return Cat("tc qdisc del dev ", link.name(), " root");
  return Cat("tc qdisc replace dev ", link.name(), " root handle ", absl::Hex(tree.root.handle >> 16), ": ",
             AsTcIsTold(tree.root));
}

class RootQdiscFault final : public Injector {
 public:
  explicit RootQdiscFault(HowToShape how) : how_(how) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, CheckMayBeFaulted(socket, fault));
    TRIODRILL_ASSIGN_OR_RETURN(const Shape shape, how_(fault, link.mtu));
    const Status has = CheckKind(socket, shape.kind);
    if (!has.ok()) return absl::Status(has.code(), Cat("prepare ", fault.kind(), ": ", has.message()));
    TRIODRILL_ASSIGN_OR_RETURN(const Tree tree, ReadTree(socket, link.identity));
    const std::string why_not = WhyNotPutBack(tree);
    if (!why_not.empty()) return RefuseLink(fault, Cat(why_not, ", which could not be put back exactly"));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, LinkResource(link.identity)));
    record.mutable_qdisc()->set_ours(OurHandle(fault, tree));
    record.mutable_qdisc()->set_handle(tree.root.handle);
    record.mutable_qdisc()->set_kind(tree.root.kind);
    record.mutable_qdisc()->set_options(tree.root.options);
    record.set_by_hand(ByHand(link.identity, tree));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::QdiscPrior& prior = record.qdisc();
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, FindLinkForSure(socket, record.fault().target().link()));
    TRIODRILL_ASSIGN_OR_RETURN(const Shape shape, how_(record.fault(), 0));
    TRIODRILL_ASSIGN_OR_RETURN(const Tree tree, ReadTree(socket, link.identity));
    if (!IsPrior(tree, prior)) {
      return absl::FailedPreconditionError(
          Cat("shape ", Describe(link.identity), ": its root qdisc is ", tree.root.Text(), " now; prepare again"));
    }
    Step("qdisc: found");
    const int flags = NLM_F_CREATE | (prior.handle() == 0 ? NLM_F_EXCL : NLM_F_REPLACE);
    TRIODRILL_RETURN_IF_ERROR(socket.Request(
        RTM_NEWQDISC, flags, RootQdiscRequest(link.identity.ifindex(), prior.ours(), shape.kind, shape.options), "set",
        Cat(shape.kind, " on ", Describe(link.identity))));
    Step("qdisc: set");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::optional<Effect> settled;
    TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, LookAtLink(record, &settled));
    if (settled.has_value()) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const Effect effect, Look(socket, record));
    if (effect.presence != Presence::kPresent) return Ok();
    Step("qdisc: ours found");
    const v1::QdiscPrior& prior = record.qdisc();
    const v1::LinkIdentity& who = found.link.identity;
    if (prior.handle() == 0) {
      // The kernel makes its default anew when there is no other.
      TRIODRILL_RETURN_IF_ERROR(socket.Request(RTM_DELQDISC, 0, RootQdiscRequest(who.ifindex(), prior.ours(), "", ""),
                                               "remove", Cat("our qdisc from ", Describe(who))));
    } else {
      TRIODRILL_RETURN_IF_ERROR(
          socket.Request(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
                         RootQdiscRequest(who.ifindex(), prior.handle(), prior.kind(), prior.options()), "put back",
                         Cat(prior.kind(), " on ", Describe(who))));
    }
    Step("qdisc: prior back");
    TRIODRILL_ASSIGN_OR_RETURN(const Tree now, ReadTree(socket, who));
    if (IsPrior(now, prior)) return Ok();
    return absl::DataLossError(Cat("put back ", prior.kind(), " on ", Describe(who), ": it reads back as ",
                                   now.root.Text(), "; by hand: ", record.by_hand()));
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::optional<Effect> settled;
    TRIODRILL_RETURN_IF_ERROR(LookAtLink(record, &settled).status());
    if (settled.has_value()) return *settled;
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    return Look(socket, record);
  }

 private:
  Result<Effect> Look(RouteSocket& socket, const v1::UndoRecord& record) const {
    TRIODRILL_ASSIGN_OR_RETURN(const Tree tree, ReadTree(socket, record.fault().target().link()));
    const std::string now = Cat("its root qdisc is ", tree.root.Text());
    if (IsPrior(tree, record.qdisc())) return Effect{Presence::kAbsent, now};
    if (tree.root.handle != record.qdisc().ours()) return Effect{Presence::kForeign, now};
    TRIODRILL_ASSIGN_OR_RETURN(const Shape shape, how_(record.fault(), 0));
    if (tree.root.kind != shape.kind || !shape.is_it(tree.root.options)) {
      return Effect{Presence::kForeign, Cat(now, ", with other parameters than ours")};
    }
    if (SomebodysBelow(tree)) return Effect{Presence::kForeign, Cat(now, ", and somebody put another below it")};
    return Effect{Presence::kPresent, Cat(now, ", ", shape.text, "; ", tree.root.packets, " packets went through, ",
                                          tree.root.dropped, " were dropped")};
  }

  const HowToShape how_;
};

}  // namespace

std::unique_ptr<Injector> MakeRootQdiscFault(HowToShape how) { return std::make_unique<RootQdiscFault>(how); }

v1::Capability ProbeRootQdiscFault(std::string_view kind, std::string_view qdisc) {
  v1::Capability capability;
  capability.set_kind(std::string(kind));
  Result<RouteSocket> socket = RouteSocket::Open();
  const Status has = socket.ok() ? CheckKind(*socket, qdisc) : socket.status();
  capability.set_possible(has.ok());
  capability.set_reason(has.ok() ? Cat("sch_", qdisc) : std::string(has.message()));
  return capability;
}

}  // namespace triodrill
