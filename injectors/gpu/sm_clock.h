// The SM clock of one GPU, and what it says of a lock of ours. NVML sets and resets locked clocks and has no getter of
// them: what is seen is the clock itself, and why it is what it is.
#pragma once

#include <string>
#include <string_view>

#include "injectors/gpu/nvml.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

constexpr uint32_t kClockTolerance = 20;  // MHz; clocks come in steps of 15

// Those that lower a clock. Idleness is looked at by itself; application clocks may be what a driver calls a lock.
constexpr uint64_t kBenignReasons = nvml::kGpuIdle | nvml::kApplicationsClocks;

bool AtHighest(const Nvml::Clocks& clocks);
std::string Text(const Nvml::Clocks& clocks);

// What a clock says of a lock of ours. Pure.
enum class LockSeen {
  kFree,     // it runs faster, or it is low because the GPU is idle: no lock of ours is there
  kOurs,     // it is where ours would hold it, and nothing else explains it
  kForeign,  // it is neither there nor at its highest, and nothing explains it: locked by somebody else
  kUnclear,  // it is low, and power or heat explain it: a lock would not show
};
// Ours holds it anywhere from `lowest` to `highest` MHz: the same for a clock that is locked once.
LockSeen LookForLock(const Nvml::Clocks& clocks, uint32_t lowest, uint32_t highest);

// Known clean: it is seen at its highest clock, so no lock holds it lower. Where power or heat never let it there, a
// person's word is needed; where nothing explains a low clock, no word helps.
Status CheckClockClean(std::string_view kind, const Nvml& nvml, const std::string& uuid, bool word);

struct LockLook {
  LockSeen seen;
  std::string text;
};
// Bounded: somebody else's only if it stays so for 0.3 s.
Result<LockLook> LookAtLock(const Nvml& nvml, const v1::GpuPrior& gpu);

// Resets locked clocks unless they are somebody else's, and waits, bounded, until no lock of ours is seen.
Status ResetLock(const Nvml& nvml, const v1::GpuPrior& gpu);

}  // namespace triodrill
