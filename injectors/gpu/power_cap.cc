#include "injectors/gpu/power_cap.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "injectors/gpu/target.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.power_cap";

std::string Text(const Nvml::Power& power) {
  return absl::StrFormat("power limit %.1f W, draws %.1f W, reasons %#x", power.limit_mw / 1000.0,
                         power.draw_mw / 1000.0, power.reasons);
}

class GpuPowerCap final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Power power, target.nvml->ReadPower(target.uuid));
    const double percent = fault.with().gpu_power_cap().limit();
    const auto ours = static_cast<uint32_t>(std::llround(power.default_mw * percent / 100));
    const auto refused = [&](std::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrFormat("prepare %s on %s: %.1f W is %s", kKind, target.uuid, ours / 1000.0, std::string(why)));
    };
    if (ours < power.least_mw || ours > power.most_mw) {
      return refused(
          absl::StrFormat("outside its bounds, %.1f~%.1f W", power.least_mw / 1000.0, power.most_mw / 1000.0));
    }
    if (ours >= power.limit_mw) return refused(absl::StrFormat("not below its limit, %.1f W", power.limit_mw / 1000.0));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, "power"));
    record.mutable_gpu()->set_ours(ours);
    record.mutable_gpu()->set_prior_limit_mw(power.limit_mw);
    record.set_by_hand(absl::StrFormat("nvidia-smi -i %s -pl %.3f", target.uuid, power.limit_mw / 1000.0));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    Step("power_cap: connected");
    return Set(*nvml, record.gpu(), record.gpu().ours());
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const v1::GpuPrior& gpu = record.gpu();
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(gpu.library()));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Power power, nvml->ReadPower(gpu.uuid()));
    if (power.limit_mw != gpu.ours()) return Ok();  // given back, never set, or somebody else's
    return Set(*nvml, gpu, gpu.prior_limit_mw());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: power limits do not survive a reboot"};
    const v1::GpuPrior& gpu = record.gpu();
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(gpu.library()));
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Power power, nvml->ReadPower(gpu.uuid()));
    const std::string text = Text(power);
    if (power.limit_mw == gpu.prior_limit_mw()) return Effect{Presence::kAbsent, text};
    if (power.limit_mw != gpu.ours()) {
      return Effect{Presence::kForeign, Cat(text, ", which is neither what we wrote nor what was there")};
    }
    if ((power.reasons & nvml::kSwPowerCap) != 0) return Effect{Presence::kPresent, text};
    // A GPU that wants less than its limit does not feel it: nothing has landed, and nothing is undone either.
    return absl::UnavailableError(Cat("look at ", gpu.uuid(), ": ", text, ": our limit is there and is not felt"));
  }

 private:
  // Read back, for a driver may round or clip.
  static Status Set(const Nvml& nvml, const v1::GpuPrior& gpu, uint32_t mw) {
    TRIODRILL_RETURN_IF_ERROR(nvml.SetPowerLimit(gpu.uuid(), mw));
    Step("power_cap: set");
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml::Power power, nvml.ReadPower(gpu.uuid()));
    if (power.limit_mw == mw) return Ok();
    return absl::InternalError(
        Cat("set the power limit of ", gpu.uuid(), " to ", mw, " mW: it reads back as ", power.limit_mw, " mW"));
  }

  NvmlConnection nvml_;
};

}  // namespace

std::unique_ptr<Injector> MakeGpuPowerCap() { return std::make_unique<GpuPowerCap>(); }

v1::Capability ProbeGpuPowerCap() { return ProbeNvml(kKind); }

}  // namespace triodrill
