// When a promise to revert is kept. Used by the agent, the replay and the guardian alike, so that there is one answer.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/injector.h"
#include "triodrill/v1/options.pb.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// What is left to do for a record after a look that came *after* a Revert which returned ok.
enum class Debt {
  kNone,     // discharge the record
  kOwed,     // the effect is still there: keep the record, try again, or do it by hand
  kForeign,  // somebody else changed the resource meanwhile: it is left as it is, the record is kept for a person
};

// Pure.
// A fault that is taken back (RESTORE, RESET) owes nothing once the effect was seen absent.
// A fault that cannot be taken back (NONE: a killed process) has a record only to say that it may have been fired.
// There is nothing that an undo could do; it is settled as soon as a look can say how it ended: the process is gone
// (present), or it is alive and was never shot, or not mortally (absent). A look that failed settles neither kind.
Debt DebtAfter(v1::Reversal reversal, Presence presence);

// As the schema says; REVERSAL_UNSPECIFIED for a kind that is not in it.
v1::Reversal ReversalOf(std::string_view kind);

struct Settled {
  Debt debt = Debt::kOwed;
  std::string evidence;  // what the look saw
  std::string problem;   // "" exactly if debt is kNone; names the operation that failed
};

// Revert, then Inspect, then DebtAfter. Does not touch the journal: discharge the record if `debt` is kNone.
Settled Settle(Injector& injector, const v1::UndoRecord& record);

}  // namespace triodrill
