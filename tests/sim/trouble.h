// What goes wrong in a simulated world, drawn from its seed beforehand, so that one can be left out without changing
// the others.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/random.h"

namespace triodrill::sim {

enum class Trouble {
  kAgentDies,
  kAgentDiesWithinSteps,
  kPowerLoss,
  kCutOff,
  kStreamBreaks,
  kCoordinatorDies,
  kAbort,
  kOthersChange,
  kSyncFails,
  kDiskFull,
  kRevertFails,
  kLookFails,
  kApplyFails,
  kNeverLands,
  kRankRestarts,
  kRecordRots,
  kWallClockSteps,
  kNoGuardian,
  kPipelineBlind,
  kSlowNetwork,
  kCount,
};

struct Planned {
  Trouble what;
  Nanos at{0};
  int node = 0;
  Nanos lasting{0};
  int count = 0;

  std::string Text() const;
};

// Of all kinds; or, if any are favoured, of these alone, and more of them.
std::vector<Planned> DrawTroubles(uint64_t seed, const std::vector<Trouble>& favoured);

}  // namespace triodrill::sim
