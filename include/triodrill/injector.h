// One fault, one target, four operations. No threads, no timers, no choice of target inside: those are the agent's.
#pragma once

#include <string>

#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// What a look at the target shows of the fault.
enum class Presence {
  kAbsent,   // the effect is not there (the target may be as before, or gone altogether)
  kPresent,  // the effect is there, and it is ours
  kForeign,  // the resource is neither as we found it nor as we made it: somebody else's change, left alone
};

struct Effect {
  Presence presence = Presence::kAbsent;
  std::string evidence;  // what was seen, for the timeline: "pidfd readable", "IFF_RUNNING clear"
};

// Implementations stand in injectors/<family>/, one file a fault, and hold no state of a fault: everything that Revert
// and Inspect need is in the record, so that a fresh process after a crash can do both.
class Injector {
 public:
  virtual ~Injector() = default;

  // Reads only. Checks that the target still is what the plan said and returns what an undo will need: `prior`,
  // `resource` and `by_hand` are filled in. An error means that nothing was changed and nothing is owed.
  virtual Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) = 0;

  // Makes the effect. The record is on disk by now. An error still owes a Revert.
  virtual Status Apply(const v1::UndoRecord& record) = 0;

  // Takes the effect back: idempotent, from the record alone, in any process on the node; leaves others' changes alone;
  // ok where there is nothing (left) to take back.
  virtual Status Revert(const v1::UndoRecord& record) = 0;

  // Looks. An error means that it could not be seen, which is never the same as absent.
  virtual Result<Effect> Inspect(const v1::UndoRecord& record) = 0;
};

}  // namespace triodrill
