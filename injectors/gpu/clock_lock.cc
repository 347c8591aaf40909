#include "injectors/gpu/clock_lock.h"

#include <cmath>

#include "injectors/gpu/sm_clock.h"
#include "injectors/gpu/target.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.clock_lock";

class GpuClockLock final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::GpuClockLock& with = fault.with().gpu_clock_lock();
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_RETURN_IF_ERROR(CheckClockClean(kKind, *target.nvml, target.uuid, with.unlocked()));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Clocks clocks, target.nvml->ReadClocks(target.uuid));
    const auto wanted = static_cast<uint32_t>(std::llround(clocks.highest_mhz * with.clock() / 100));
    TRIODRILL_ASSIGN_OR_RETURN(const uint32_t ours, target.nvml->SupportedClock(target.uuid, wanted));
    if (ours == 0 || ours + 2 * kClockTolerance >= clocks.highest_mhz) {
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
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    return ResetLock(*nvml, record.gpu());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: locked clocks do not survive a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    TRIODRILL_ASSIGN_OR_RETURN(const LockLook look, LookAtLock(*nvml, record.gpu()));
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

std::unique_ptr<Injector> MakeGpuClockLock() { return std::make_unique<GpuClockLock>(); }

v1::Capability ProbeGpuClockLock() { return ProbeNvml(kKind); }

}  // namespace triodrill
