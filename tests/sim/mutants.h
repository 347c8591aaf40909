// Mistakes that this simulation must notice: each is made on purpose, and every one has to be found.
#pragma once

#include <array>
#include <ostream>
#include <string_view>

namespace triodrill::sim {

enum class Mutant {
  kNone,
  kApplyBeforeRecord,    // the effect is made before its undo is on disk
  kUnsyncedDirectory,    // the record's name is not synced
  kUnsyncedFile,         // the record's bytes are not synced
  kNoLease,              // the node waits for its coordinator for ever
  kLeaseOfOwnVoice,      // what the node says itself counts as heard
  kWallClockLease,       // the lease goes by the wall clock, which is stepped
  kNoReplay,             // an agent that starts does not look at its journal
  kUnreadableIsDropped,  // a record that cannot be read is cleared away
  kRevertClobbers,       // a revert takes away what somebody else did
  kRevertToggles,        // a revert of what is healthy breaks it
  kUndoUnseen,           // nobody looks whether the effect is gone
  kFireTwice,            // a shot is fired again later
  kLateFire,             // an instant that was missed is fired all the same
  kStaleTarget,          // whoever has the slot now is hit, not whom the plan meant
  kShamFires,            // a sham trial is a trial
  kGateFailsOpen,        // what the gate could not see, it takes for good
  kPassWithoutLanding,   // a fault that was not seen to land counts as landed
  kConfirmUnseen,        // the coordinator takes every undo for confirmed
  kClockIsExact,         // the offset of a node's clock is taken for exact
};

struct NamedMutant {
  Mutant mutant;
  std::string_view name;

  friend void PrintTo(const NamedMutant& one, std::ostream* out) { *out << one.name; }
};
inline constexpr std::array kMutants = {
    NamedMutant{Mutant::kApplyBeforeRecord, "apply_before_record"},
    NamedMutant{Mutant::kUnsyncedDirectory, "unsynced_directory"},
    NamedMutant{Mutant::kUnsyncedFile, "unsynced_file"},
    NamedMutant{Mutant::kNoLease, "no_lease"},
    NamedMutant{Mutant::kLeaseOfOwnVoice, "lease_of_own_voice"},
    NamedMutant{Mutant::kWallClockLease, "wall_clock_lease"},
    NamedMutant{Mutant::kNoReplay, "no_replay"},
    NamedMutant{Mutant::kUnreadableIsDropped, "unreadable_is_dropped"},
    NamedMutant{Mutant::kRevertClobbers, "revert_clobbers"},
    NamedMutant{Mutant::kRevertToggles, "revert_toggles"},
    NamedMutant{Mutant::kUndoUnseen, "undo_unseen"},
    NamedMutant{Mutant::kFireTwice, "fire_twice"},
    NamedMutant{Mutant::kLateFire, "late_fire"},
    NamedMutant{Mutant::kStaleTarget, "stale_target"},
    NamedMutant{Mutant::kShamFires, "sham_fires"},
    NamedMutant{Mutant::kGateFailsOpen, "gate_fails_open"},
    NamedMutant{Mutant::kPassWithoutLanding, "pass_without_landing"},
    NamedMutant{Mutant::kConfirmUnseen, "confirm_unseen"},
    NamedMutant{Mutant::kClockIsExact, "clock_is_exact"},
};

}  // namespace triodrill::sim
