#include "injectors/gpu/clock_lock.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "injectors/gpu/target.h"
#include "injectors/os/clock.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.clock_lock";
constexpr uint32_t kTolerance = 20;  // MHz; clocks come in steps of 15
// A clock on its way from one value to another looks like somebody else's for a moment.
constexpr Nanos kSteady = std::chrono::milliseconds(300);
constexpr Nanos kUntilHighest = std::chrono::milliseconds(1500);
constexpr Nanos kUntilReset = std::chrono::seconds(2);

// Those that lower a clock. Idleness is looked at by itself; application clocks may be what a driver calls a lock.
constexpr uint64_t kBenign = nvml::kGpuIdle | nvml::kApplicationsClocks;

bool AtHighest(const Nvml::Clocks& clocks) { return clocks.now_mhz + kTolerance >= clocks.highest_mhz; }

std::string Text(const Nvml::Clocks& clocks) {
  return absl::StrFormat("SM clock %d of %d MHz, reasons %#x", clocks.now_mhz, clocks.highest_mhz, clocks.reasons);
}

// Known clean: it is seen at its highest clock, so no lock holds it lower. Where power or heat never let it there, a
// person's word is needed; where nothing explains a low clock, no word helps.
Status CheckClean(const Nvml& nvml, const std::string& uuid, bool word) {
  Result<Nvml::Clocks> clocks = absl::UnavailableError("");
  const bool clean = LookUntil(kUntilHighest, [&] {
    clocks = nvml.ReadClocks(uuid);
    return !clocks.ok() || AtHighest(*clocks);
  });
  TRIODRILL_RETURN_IF_ERROR(clocks.status());
  if (clean || (word && clocks->reasons != 0)) return Ok();
  return absl::FailedPreconditionError(
      Cat("prepare ", kKind, " on ", uuid, ": ", Text(*clocks),
          ": its clocks may be locked, and NVML does not tell to ", "what; reset them (nvidia-smi -i ", uuid, " -rgc)",
          clocks->reasons != 0 ? ", or say `unlocked: true` if you know that they are not" : ""));
}

struct Look {
  LockSeen seen;
  std::string text;
};

// Somebody else's only if it stays so.
Result<Look> LookAt(const Nvml& nvml, const v1::GpuPrior& gpu) {
  Result<Nvml::Clocks> clocks = absl::UnavailableError("");
  LockSeen seen = LockSeen::kUnclear;
  LookUntil(kSteady, [&] {
    clocks = nvml.ReadClocks(gpu.uuid());
    if (!clocks.ok()) return true;
    seen = LookForLock(*clocks, gpu.ours());
    return seen != LockSeen::kForeign;
  });
  TRIODRILL_RETURN_IF_ERROR(clocks.status());
  return Look{seen, Text(*clocks)};
}

class GpuClockLock final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::GpuClockLock& with = fault.with().gpu_clock_lock();
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_RETURN_IF_ERROR(CheckClean(*target.nvml, target.uuid, with.unlocked()));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Clocks clocks, target.nvml->ReadClocks(target.uuid));
    const auto wanted = static_cast<uint32_t>(std::llround(clocks.highest_mhz * with.clock() / 100));
    TRIODRILL_ASSIGN_OR_RETURN(const uint32_t ours, target.nvml->SupportedClock(target.uuid, wanted));
    if (ours == 0 || ours + 2 * kTolerance >= clocks.highest_mhz) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, " on ", target.uuid, ": ", ours,
                                            " MHz cannot be told from its highest, ", clocks.highest_mhz, " MHz"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, "clocks"));
    record.mutable_gpu()->set_ours(ours);
    record.set_by_hand(Cat("nvidia-smi -i ", target.uuid, " -rgc"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    Step("clock_lock: connected");
    TRIODRILL_RETURN_IF_ERROR(nvml->LockClocks(record.gpu().uuid(), record.gpu().ours()));
    Step("clock_lock: locked");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const v1::GpuPrior& gpu = record.gpu();
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(gpu.library()));
    TRIODRILL_ASSIGN_OR_RETURN(const Look before, LookAt(*nvml, gpu));
    if (before.seen == LockSeen::kForeign) return Ok();
    // Also where nothing is seen: a lock that was set this moment may not show yet.
    TRIODRILL_RETURN_IF_ERROR(nvml->ResetClocks(gpu.uuid()));
    Step("clock_lock: reset");
    Result<Nvml::Clocks> clocks = absl::UnavailableError("");
    const bool gone = LookUntil(kUntilReset, [&] {
      clocks = nvml->ReadClocks(gpu.uuid());
      return !clocks.ok() || LookForLock(*clocks, gpu.ours()) != LockSeen::kOurs;
    });
    TRIODRILL_RETURN_IF_ERROR(clocks.status());
    if (gone) return Ok();
    return absl::DeadlineExceededError(
        Cat("reset the clocks of ", gpu.uuid(), ": it did, and is still at ", Text(*clocks)));
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: locked clocks do not survive a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    TRIODRILL_ASSIGN_OR_RETURN(const Look look, LookAt(*nvml, record.gpu()));
    switch (look.seen) {
      case LockSeen::kFree:
        return Effect{Presence::kAbsent, look.text};
      case LockSeen::kOurs:
        return Effect{Presence::kPresent, Cat(look.text, ", locked at ", record.gpu().ours(), " MHz")};
      case LockSeen::kForeign:
        return Effect{Presence::kForeign, Cat(look.text, ", and we locked it at ", record.gpu().ours(), " MHz")};
      case LockSeen::kUnclear:
        break;
    }
    return absl::UnavailableError(Cat("look at ", record.gpu().uuid(), ": ", look.text,
                                      ": a lock does not show while power or heat hold it low"));
  }

 private:
  NvmlConnection nvml_;
};

}  // namespace

LockSeen LookForLock(const Nvml::Clocks& clocks, uint32_t ours) {
  const bool explained = (clocks.reasons & ~kBenign) != 0;
  if (clocks.now_mhz > ours + kTolerance) {
    const bool idle = (clocks.reasons & nvml::kGpuIdle) != 0;
    return AtHighest(clocks) || explained || idle ? LockSeen::kFree : LockSeen::kForeign;
  }
  if (explained) return LockSeen::kUnclear;
  if (clocks.now_mhz + kTolerance >= ours) return LockSeen::kOurs;
  // Ours pins the clock from below, too.
  return (clocks.reasons & nvml::kGpuIdle) != 0 ? LockSeen::kFree : LockSeen::kForeign;
}

std::unique_ptr<Injector> MakeGpuClockLock() { return std::make_unique<GpuClockLock>(); }

v1::Capability ProbeGpuClockLock() { return ProbeNvml(kKind); }

}  // namespace triodrill
