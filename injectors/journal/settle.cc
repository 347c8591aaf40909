#include "injectors/journal/settle.h"

#include "injectors/os/step.h"
#include "triodrill/text.h"
#include "triodrill/v1/faults.pb.h"

namespace triodrill {

Debt DebtAfter(v1::Reversal reversal, Presence presence) {
  if (presence == Presence::kForeign) return Debt::kForeign;
  if (reversal == v1::NONE) return Debt::kNone;
  return presence == Presence::kAbsent ? Debt::kNone : Debt::kOwed;
}

v1::Reversal ReversalOf(std::string_view kind) {
  const google::protobuf::Descriptor* parameters = v1::Parameters::descriptor();
  for (int i = 0; i < parameters->field_count(); ++i) {
    const v1::FaultFacts& facts = parameters->field(i)->message_type()->options().GetExtension(v1::fault);
    if (facts.kind() == kind) return facts.reversal();
  }
  return v1::REVERSAL_UNSPECIFIED;
}

Settled Settle(Injector& injector, const v1::UndoRecord& record) {
  const Status reverted = injector.Revert(record);
  Step("settle: reverted");
  const Result<Effect> effect = injector.Inspect(record);
  Step("settle: inspected");
  Settled settled;
  if (!effect.ok()) {
    settled.problem = Cat("inspect: ", effect.status().message());
    if (!reverted.ok()) settled.problem = Cat("revert: ", reverted.message(), "; ", settled.problem);
    return settled;
  }
  settled.evidence = effect->evidence;
  settled.debt = DebtAfter(ReversalOf(record.fault().kind()), effect->presence);
  if (settled.debt == Debt::kForeign) {
    settled.problem = Cat("changed by somebody else, left as it is: ", effect->evidence);
  } else if (!reverted.ok()) {
    // What a failed undo left may not show in a look at the effect alone.
    settled.debt = Debt::kOwed;
    settled.problem = Cat("revert: ", reverted.message());
  } else if (settled.debt == Debt::kOwed) {
    settled.problem = Cat("still there after the revert: ", effect->evidence);
  }
  return settled;
}

}  // namespace triodrill
