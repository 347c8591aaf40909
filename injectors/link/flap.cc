#include "injectors/link/flap.h"

#include <utility>

#include "injectors/journal/record.h"
#include "injectors/link/down.h"
#include "injectors/link/flap_order.h"
#include "injectors/link/restore.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "link.flap";

class Flap final : public Injector {
 public:
  explicit Flap(std::string program) : helper_(kFlapProgram, kFlapCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(FlapRhythm(fault).status());
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const v1::LinkPrior prior, CheckMayGoDown(socket, fault));
    const v1::LinkIdentity& who = fault.target().link();
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, LinkResource(who)));
    *record.mutable_flap()->mutable_link() = prior;
    record.mutable_flap()->set_token(HelperToken(fault, Cat(who.net_namespace_inode(), "/", who.ifindex())));
    record.set_by_hand(Cat("end every ", kFlapProgram, " with ", TokenArgument(record.flap().token()),
                           " on its command line, then: ", LinkByHand(who, prior)));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(FlapOrder order, FlapRhythm(record.fault()));
    order.links = {record.fault().target().link()};
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.flap().token()));
    return helper_.Start(order.common, FlapArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const Status ended = helper_.End(record.flap().token());
    Step("flap: program ended");
    const Status up = BringLinkUp(record.fault().target().link(), record.flap().link());
    return ended.ok() ? up : ended;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::optional<Effect> settled;
    TRIODRILL_ASSIGN_OR_RETURN(const FoundLink found, LookAtLink(record, &settled));
    if (settled.has_value()) return *settled;
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.flap().token()));
    const int downs = helper_.Count(programs);
    if (!programs.empty()) {
      return Effect{downs > 0 ? Presence::kPresent : Presence::kAbsent,
                    Cat("seen down ", downs, downs == 1 ? " time; now " : " times; now ", FlagsText(found.link))};
    }
    // Without the program it is as link.down: what it left down is ours to take back.
    const bool down = !found.link.Up() && !found.link.Running();
    return Effect{down ? Presence::kPresent : Presence::kAbsent,
                  Cat("no ", kFlapProgram, " for it; ", FlagsText(found.link))};
  }

 private:
  const Helper helper_;
};

}  // namespace

std::unique_ptr<Injector> MakeLinkFlap(std::string program) { return std::make_unique<Flap>(std::move(program)); }

v1::Capability ProbeLinkFlap() {
  v1::Capability capability = ProbeLinkDown();
  capability.set_kind(kKind);
  const Status found = Helper(kFlapProgram, kFlapCount, "").Check(kKind);
  if (found.ok()) return capability;
  capability.set_possible(false);
  capability.set_reason(std::string(found.message()));
  return capability;
}

}  // namespace triodrill
