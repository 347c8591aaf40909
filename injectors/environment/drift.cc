#include "injectors/environment/drift.h"

#include "injectors/cpu/stutter.h"
#include "injectors/gpu/drift.h"
#include "injectors/gpu/nvml.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "environment.drift";

class EnvironmentDrift final : public Injector {
 public:
  explicit EnvironmentDrift(const DriftPrograms& programs)
      : stops_(MakeProcessDrift(programs.stutter)), clock_(MakeGpuDrift(programs.clockwave)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::EnvironmentDrift& with = fault.with().environment_drift();
    if (!(with.amplitude() >= 1 && with.amplitude() <= 5) || ToNanos(with.period()) <= Nanos(0)) {
      return absl::InvalidArgumentError("prepare environment.drift: an amplitude of 1% to 5% and a period are needed");
    }
    if (with.by() == "stops") return stops_->Prepare(fault);
    if (with.by() == "clock") return clock_->Prepare(fault);
    if (!with.by().empty() && with.by() != "auto") {
      return absl::InvalidArgumentError(
          Cat("prepare environment.drift: `by` is \"", with.by(), "\"; it can be auto, clock or stops"));
    }
    Result<v1::UndoRecord> record = clock_->Prepare(fault);
    return record.ok() ? record : stops_->Prepare(fault);
  }

  Status Apply(const v1::UndoRecord& record) override { return Of(record).Apply(record); }
  Status Revert(const v1::UndoRecord& record) override { return Of(record).Revert(record); }
  Result<Effect> Inspect(const v1::UndoRecord& record) override { return Of(record).Inspect(record); }

 private:
  Injector& Of(const v1::UndoRecord& record) { return record.has_gpu() ? *clock_ : *stops_; }

  const std::unique_ptr<Injector> stops_;
  const std::unique_ptr<Injector> clock_;
};

}  // namespace

std::unique_ptr<Injector> MakeEnvironmentDrift(const DriftPrograms& programs) {
  return std::make_unique<EnvironmentDrift>(programs);
}

v1::Capability ProbeEnvironmentDrift() {
  v1::Capability stops = ProbeCpuStutter();
  const v1::Capability clock = ProbeNvml(kKind);
  stops.set_kind(kKind);
  if (!clock.possible()) return stops;
  stops.set_possible(true);
  stops.set_reason(Cat("the clock of the target's GPU: ", clock.reason(), "; else ", stops.reason()));
  return stops;
}

}  // namespace triodrill
