#include "injectors/gpu/dcgm_field.h"

#include <cmath>
#include <utility>

#include "injectors/gpu/dcgm_order.h"
#include "injectors/gpu/target.h"
#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/run_to_end.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.dcgm_field";
constexpr Nanos kListWithin = std::chrono::seconds(5);

class GpuDcgmField final : public Injector {
 public:
  explicit GpuDcgmField(DcgmPrograms programs)
      : helper_(kDcgmProgram, kDcgmCount, std::move(programs.helper)), dcgmi_(std::move(programs.dcgmi)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::GpuDcgmField& with = fault.with().gpu_dcgm_field();
    if (with.field() < 1 || !std::isfinite(with.value())) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": the field is a number from 1 on, the value finite"));
    }
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const std::string dcgmi, FindProgram(dcgmi_));
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_ASSIGN_OR_RETURN(const ProgramEnd list, RunToEnd(dcgm::ListArguments(dcgmi), kListWithin));
    TRIODRILL_ASSIGN_OR_RETURN(const uint32_t gpu, dcgm::GpuInList(list.text, target.uuid));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, Cat("dcgm/", with.field())));
    v1::GpuPrior& prior = *record.mutable_gpu();
    prior.set_token(HelperToken(fault, target.uuid));
    prior.set_dcgmi(dcgmi);
    prior.set_dcgm_gpu(gpu);
    record.set_by_hand(Cat("end every ", kDcgmProgram, " with ", TokenArgument(prior.token()), " on its command line"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::GpuDcgmField& with = record.fault().with().gpu_dcgm_field();
    DcgmOrder order;
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.gpu().token()));
    order.field = {record.gpu().dcgmi(), record.gpu().dcgm_gpu(), with.field(), dcgm::ValueText(with.value())};
    order.every = with.has_every() ? ToNanos(with.every()) : Nanos(std::chrono::seconds(1));
    return helper_.Start(order.common, DcgmArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_RETURN_IF_ERROR(helper_.End(record.gpu().token()));
    Step("dcgm: program ended");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: DCGM keeps no values over one"};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.gpu().token()));
    if (programs.empty()) return Effect{Presence::kAbsent, Cat("no ", kDcgmProgram, " for it: nothing is injected")};
    const v1::GpuDcgmField& with = record.fault().with().gpu_dcgm_field();
    const int seen = helper_.Count(programs);
    return Effect{
        seen > 0 ? Presence::kPresent : Presence::kAbsent,
        Cat("field ", with.field(), " of GPU ", record.gpu().dcgm_gpu(), " in DCGM: ", dcgm::ValueText(with.value()),
            " was injected ", seen, seen == 1 ? " time" : " times", seen > 0 ? ", and DCGM answered it" : "")};
  }

 private:
  const Helper helper_;
  const std::string dcgmi_;
  NvmlConnection nvml_;
};

}  // namespace

std::unique_ptr<Injector> MakeGpuDcgmField(DcgmPrograms programs) {
  return std::make_unique<GpuDcgmField>(std::move(programs));
}

v1::Capability ProbeGpuDcgmField() {
  v1::Capability capability = ProbeNvml(kKind);
  if (!capability.possible()) return capability;
  const Result<std::string> dcgmi = FindProgram(DcgmPrograms().dcgmi);
  capability.set_possible(dcgmi.ok());
  capability.set_reason(dcgmi.ok() ? Cat("DCGM, ", *dcgmi) : std::string(dcgmi.status().message()));
  return capability;
}

}  // namespace triodrill
