#include "injectors/gpu/lost.h"

#include "injectors/gpu/target.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.lost";

class GpuLost final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    if (!target.nvml->CanLose()) {
      return absl::UnimplementedError(
          Cat("prepare ", kKind, " on ", target.uuid, ": only a shadow GPU can be lost on request"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, "lost"));
    record.set_by_hand(Cat("triodrill-gpu-state set FILE --gpu N lost=0, of shadow GPU ", target.uuid));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    Step("lost: connected");
    TRIODRILL_RETURN_IF_ERROR(nvml->SetLost(record.gpu().uuid(), true));
    Step("lost: gone");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    TRIODRILL_RETURN_IF_ERROR(nvml->SetLost(record.gpu().uuid(), false));
    Step("lost: back");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot"};
    TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, nvml_.To(record.gpu().library()));
    TRIODRILL_ASSIGN_OR_RETURN(const bool lost, nvml->Lost(record.gpu().uuid()));
    return lost ? Effect{Presence::kPresent, "NVML: the GPU is lost"} : Effect{Presence::kAbsent, "the GPU answers"};
  }

 private:
  NvmlConnection nvml_;
};

}  // namespace

std::unique_ptr<Injector> MakeGpuLost() { return std::make_unique<GpuLost>(); }

v1::Capability ProbeGpuLost() {
  v1::Capability capability = ProbeNvml(kKind);
  if (!capability.possible()) return capability;
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(NvmlLibrary());
  if (nvml.ok() && (*nvml)->CanLose()) return capability;
  capability.set_possible(false);
  capability.set_reason(Cat("no driver loses a GPU on request; ", NvmlLibrary(), " has no shadow GPUs"));
  return capability;
}

}  // namespace triodrill
