#include "injectors/gpu/sm_clock.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "injectors/os/clock.h"
#include "injectors/os/step.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// A clock on its way from one value to another looks like somebody else's for a moment.
constexpr Nanos kSteady = std::chrono::milliseconds(300);
constexpr Nanos kUntilHighest = std::chrono::milliseconds(1500);
constexpr Nanos kUntilReset = std::chrono::seconds(2);

LockSeen LookForLock(const Nvml::Clocks& clocks, const v1::GpuPrior& gpu) {
  return LookForLock(clocks, gpu.ours(), std::max(gpu.ours(), gpu.ours_highest()));
}

}  // namespace

bool AtHighest(const Nvml::Clocks& clocks) { return clocks.now_mhz + kClockTolerance >= clocks.highest_mhz; }

std::string Text(const Nvml::Clocks& clocks) {
  return absl::StrFormat("SM clock %d of %d MHz, reasons %#x", clocks.now_mhz, clocks.highest_mhz, clocks.reasons);
}

LockSeen LookForLock(const Nvml::Clocks& clocks, uint32_t lowest, uint32_t highest) {
  const bool explained = (clocks.reasons & ~kBenignReasons) != 0;
  const bool idle = (clocks.reasons & nvml::kGpuIdle) != 0;
  if (AtHighest(clocks)) return LockSeen::kFree;
  if (clocks.now_mhz > highest + kClockTolerance) return explained || idle ? LockSeen::kFree : LockSeen::kForeign;
  if (explained) return LockSeen::kUnclear;
  if (clocks.now_mhz + kClockTolerance >= lowest) return LockSeen::kOurs;
  // Ours pins the clock from below, too.
  return idle ? LockSeen::kFree : LockSeen::kForeign;
}

Status CheckClockClean(std::string_view kind, const Nvml& nvml, const std::string& uuid, bool word) {
  Result<Nvml::Clocks> clocks = absl::UnavailableError("");
  const bool clean = LookUntil(kUntilHighest, [&] {
    clocks = nvml.ReadClocks(uuid);
    return !clocks.ok() || AtHighest(*clocks);
  });
  TRIODRILL_RETURN_IF_ERROR(clocks.status());
  if (clean || (word && clocks->reasons != 0)) return Ok();
  return absl::FailedPreconditionError(
      Cat("prepare ", kind, " on ", uuid, ": ", Text(*clocks), ": its clocks may be locked, and NVML does not tell to ",
          "what; reset them (nvidia-smi -i ", uuid, " -rgc)",
          clocks->reasons != 0 ? ", or say `unlocked: true` if you know that they are not" : ""));
}

Result<LockLook> LookAtLock(const Nvml& nvml, const v1::GpuPrior& gpu) {
  Result<Nvml::Clocks> clocks = absl::UnavailableError("");
  LockSeen seen = LockSeen::kUnclear;
  LookUntil(kSteady, [&] {
    clocks = nvml.ReadClocks(gpu.uuid());
    if (!clocks.ok()) return true;
    seen = LookForLock(*clocks, gpu);
    return seen != LockSeen::kForeign;
  });
  TRIODRILL_RETURN_IF_ERROR(clocks.status());
  return LockLook{seen, Text(*clocks)};
}

Status ResetLock(const Nvml& nvml, const v1::GpuPrior& gpu) {
  TRIODRILL_ASSIGN_OR_RETURN(const LockLook before, LookAtLock(nvml, gpu));
  if (before.seen == LockSeen::kForeign) return Ok();
  // Also where nothing is seen: a lock that was set this moment may not show yet.
  TRIODRILL_RETURN_IF_ERROR(nvml.ResetClocks(gpu.uuid()));
  Step("sm_clock: reset");
  Result<Nvml::Clocks> clocks = absl::UnavailableError("");
  const bool gone = LookUntil(kUntilReset, [&] {
    clocks = nvml.ReadClocks(gpu.uuid());
    return !clocks.ok() || LookForLock(*clocks, gpu) != LockSeen::kOurs;
  });
  TRIODRILL_RETURN_IF_ERROR(clocks.status());
  if (gone) return Ok();
  return absl::DeadlineExceededError(
      Cat("reset the clocks of ", gpu.uuid(), ": it did, and is still at ", Text(*clocks)));
}

}  // namespace triodrill
