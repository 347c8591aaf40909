#include "injectors/gpu/drift.h"

#include <cmath>
#include <utility>

#include "injectors/gpu/sm_clock.h"
#include "injectors/gpu/target.h"
#include "injectors/gpu/wave_order.h"
#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "environment.drift";

class GpuDrift final : public Injector {
 public:
  explicit GpuDrift(std::string program) : helper_(kWaveProgram, kWaveCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::EnvironmentDrift& with = fault.with().environment_drift();
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_RETURN_IF_ERROR(CheckClockClean(kKind, *target.nvml, target.uuid, false));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Clocks clocks, target.nvml->ReadClocks(target.uuid));
    const auto wanted = static_cast<uint32_t>(std::llround(clocks.highest_mhz * (1 - with.amplitude() / 100)));
    TRIODRILL_ASSIGN_OR_RETURN(const uint32_t lowest, target.nvml->SupportedClock(target.uuid, wanted));
    if (lowest == 0 || lowest + kClockTolerance >= clocks.highest_mhz) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, " on ", target.uuid, ": ", lowest,
                                            " MHz cannot be told from its highest, ", clocks.highest_mhz, " MHz"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, "clocks"));
    v1::GpuPrior& gpu = *record.mutable_gpu();
    gpu.set_ours(lowest);
    gpu.set_ours_highest(clocks.highest_mhz);
    gpu.set_token(HelperToken(fault, target.uuid));
    record.set_by_hand(Cat("end every ", kWaveProgram, " with ", TokenArgument(gpu.token()),
                           " on its command line, then: nvidia-smi -i ", target.uuid, " -rgc"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::GpuPrior& gpu = record.gpu();
    WaveOrder order;
    order.library = gpu.library();
    order.uuid = gpu.uuid();
    order.lowest_mhz = gpu.ours();
    order.highest_mhz = gpu.ours_highest();
    order.wave = ToNanos(record.fault().with().environment_drift().period());
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, gpu.token()));
    return helper_.Start(order.common, WaveArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const Status ended = helper_.End(record.gpu().token());
    Step("drift: program ended");
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    const Status reset = ResetLock(*nvml, record.gpu());
    return ended.ok() ? reset : ended;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: locked clocks do not survive a reboot"};
    const v1::GpuPrior& gpu = record.gpu();
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(gpu.token()));
    if (!programs.empty()) {
      const int seen = helper_.Count(programs);
      return Effect{seen > 0 ? Presence::kPresent : Presence::kAbsent,
                    Cat("the SM clock was seen lower ", seen, seen == 1 ? " time" : " times", ", between ", gpu.ours(),
                        " and ", gpu.ours_highest(), " MHz")};
    }
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(gpu.library()));
    TRIODRILL_ASSIGN_OR_RETURN(const LockLook look, LookAtLock(*nvml, gpu));
    switch (look.seen) {
      case LockSeen::kFree:
        return Effect{Presence::kAbsent, Cat("no ", kWaveProgram, " for it; ", look.text)};
      case LockSeen::kOurs:
        return Effect{Presence::kPresent, Cat(look.text, ", as the wave left it")};
      case LockSeen::kForeign:
        return Effect{Presence::kForeign, Cat(look.text, ", and the wave's lowest is ", gpu.ours(), " MHz")};
      case LockSeen::kUnclear:
        break;
    }
    return absl::UnavailableError(
        Cat("look at ", gpu.uuid(), ": ", look.text, ": a lock does not show while power or heat hold it low"));
  }

 private:
  const Helper helper_;
  NvmlConnection nvml_;
};

}  // namespace

std::unique_ptr<Injector> MakeGpuDrift(std::string program) { return std::make_unique<GpuDrift>(std::move(program)); }

}  // namespace triodrill
