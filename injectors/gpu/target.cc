#include "injectors/gpu/target.h"

#include "injectors/process/target.h"

namespace triodrill {

Result<GpuTarget> FindGpu(const v1::AimedFault& fault, NvmlConnection& connection) {
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
  TRIODRILL_ASSIGN_OR_RETURN(const Nvml* nvml, connection.Anew(NvmlLibrary()));
  TRIODRILL_ASSIGN_OR_RETURN(std::string uuid, nvml->GpuOfProcess(process.identity().pid()));
  // Had it ended before, the number in the GPU's list could have been another's.
  if (process.Ended()) {
    return absl::NotFoundError(Cat("prepare ", fault.kind(), ": ", Describe(process.identity()), " has ended"));
  }
  return GpuTarget{nvml, std::move(uuid)};
}

Result<v1::UndoRecord> NewGpuRecord(const v1::AimedFault& fault, const GpuTarget& target, std::string_view what) {
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("gpu/", target.uuid, "/", what)));
  record.mutable_gpu()->set_library(target.nvml->library());
  record.mutable_gpu()->set_uuid(target.uuid);
  return record;
}

}  // namespace triodrill
