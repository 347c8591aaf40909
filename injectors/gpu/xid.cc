#include "injectors/gpu/xid.h"

#include "injectors/gpu/kernel_log.h"
#include "injectors/gpu/target.h"
#include "injectors/gpu/xid_line.h"
#include "injectors/os/step.h"
#include "injectors/process/process_identity.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.xid";

class GpuXid final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const int xid = fault.with().gpu_xid().xid();
    if (xid < 1) return absl::InvalidArgumentError(Cat("prepare ", kKind, ": XID ", xid, ": they are numbered from 1"));
    NvmlConnection connection;
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, connection));
    TRIODRILL_ASSIGN_OR_RETURN(const nvml::PciInfo where, target.nvml->ReadPci(target.uuid));
    const int pid = fault.target().process().pid();
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(pid));
    TRIODRILL_RETURN_IF_ERROR(CheckKernelLog(KernelLog()));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("gpu/", target.uuid, "/kernel-log")));
    v1::KernelLogPrior& prior = *record.mutable_kernel_log();
    prior.set_log(KernelLog());
    prior.set_line(XidLine(where, xid, pid, stat.name));
    TRIODRILL_ASSIGN_OR_RETURN(const uint64_t end, EndOfKernelLog(prior.log()));
    prior.set_position(end);
    record.set_by_hand(Cat("nothing to undo: the line stays in ", prior.log(),
                           "; tell who reads it that it was a drill's, and remove the record"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    Step("xid: before the line");
    TRIODRILL_RETURN_IF_ERROR(WriteToKernelLog(record.kernel_log().log(), record.kernel_log().line()));
    Step("xid: line written");
    return Ok();
  }

  Status Revert(const v1::UndoRecord&) override { return Ok(); }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: the kernel's log began anew"};
    const v1::KernelLogPrior& prior = record.kernel_log();
    TRIODRILL_ASSIGN_OR_RETURN(const bool there, IsInKernelLog(prior.log(), prior.line(), prior.position()));
    if (there) return Effect{Presence::kPresent, Cat("read back from ", prior.log(), ": ", prior.line())};
    return Effect{Presence::kAbsent, Cat("no such line in ", prior.log(), " since it was prepared")};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeGpuXid() { return std::make_unique<GpuXid>(); }

v1::Capability ProbeGpuXid() {
  v1::Capability capability = ProbeNvml(kKind);
  const Status log = CheckKernelLog(KernelLog());
  if (!capability.possible() || log.ok()) return capability;
  capability.set_possible(false);
  capability.set_reason(std::string(log.message()));
  return capability;
}

}  // namespace triodrill
