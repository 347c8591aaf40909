#include "injectors/gpu/hang.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/stable_hash.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "injectors/tensor/workload_page.h"
#include "triodrill/kernels/layout.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.hang";
constexpr const char* kDefaultPhase = "compute";

bool HasLoadedDriver(pid_t pid) {
  std::ifstream maps(Cat("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libcuda.so") != std::string::npos) return true;
  }
  return false;
}

std::string TroubleText(const WorkloadPage::RuleLook& look) {
  if (look.expired) return "; its time was up before the phase began";
  if (look.trouble == workload::kNoGpu) return "; the thread that begins the phase has no context on a GPU";
  if (look.trouble == workload::kGpuRefused) return Cat("; the CUDA driver refused: code ", look.gpu_code);
  return "";
}

Effect EffectOf(const WorkloadPage::RuleLook& look) {
  switch (look.gpu_state) {
    case kernels::kHangSpins:
      return {Presence::kPresent,
              Cat("the kernel spins on the process's default stream; launched after step ", look.step, ", between ",
                  look.begun_ns, " and ", look.done_ns, " ns of its monotonic clock")};
    case kernels::kHangLaunched:
      return {Presence::kAbsent, "the kernel is launched and waits behind other work"};
    case kernels::kHangReleased:
      return {Presence::kAbsent, "the kernel has returned"};
    case kernels::kHangLifeOver:
      return {Presence::kAbsent, "the kernel has returned: its time was up"};
    default:
      return {
          Presence::kAbsent,
          Cat(look.armed ? "the rule is armed, its phase has not begun" : "the rule is not armed", TroubleText(look))};
  }
}

class GpuHang final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const std::string& given = fault.with().gpu_hang().phase();
    const std::string phase = given.empty() ? kDefaultPhase : given;
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    if (phase.size() >= workload::kPhaseName) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": the name of the phase is too long"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const WorkloadPage page, WorkloadPage::Open(process));
    const std::vector<std::string> known = page.Phases();
    if (std::find(known.begin(), known.end(), phase) == known.end()) {
      return absl::FailedPreconditionError(Cat("prepare ", kKind, ": the workload knows no phase '", phase,
                                               "'; it knows: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
    }
    if (!HasLoadedDriver(who.pid())) {
      return absl::FailedPreconditionError(
          Cat("prepare ", kKind, ": ", Describe(who), " has loaded no CUDA driver: it computes on no GPU"));
    }
    if (page.FreeRules() == 0) {
      return absl::ResourceExhaustedError(Cat("prepare ", kKind, ": the workload's page has no place for a rule"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "gpu-work")));
    record.mutable_hang()->set_token(StableHash(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks()))));
    record.mutable_hang()->set_phase(phase);
    record.set_by_hand(
        Cat("nothing: the kernel ends by itself when the fault's maximum hold is over, and with pid ", who.pid()));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    Nanos until(record.expires_boottime_ns());
    if (until <= Nanos(0) && record.max_hold_ns() > 0) until = SinceBoot() + Nanos(record.max_hold_ns());
    if (until <= Nanos(0)) return absl::InvalidArgumentError(Cat("apply ", kKind, ": the record has no maximum hold"));
    workload::RuleOrder order{};
    order.kind = workload::kHang;
    order.deadline_boottime_ns = until.count();
    std::strncpy(order.phase, record.hang().phase().c_str(), workload::kPhaseName - 1);
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    TRIODRILL_ASSIGN_OR_RETURN(WorkloadPage page, WorkloadPage::Open(process));
    Step("hang: page opened");
    return page.Arm(record.hang().token(), order);
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Ok();
    Result<WorkloadPage> page = WorkloadPage::Open(*process);
    // Given back, or never there: the kernel ends with its page.
    if (absl::IsNotFound(page.status())) return Ok();
    if (!page.ok()) return page.status();
    return page->Withdraw(record.hang().token());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    const Result<WorkloadPage> page = WorkloadPage::Open(*process);
    if (absl::IsNotFound(page.status())) return Effect{Presence::kAbsent, std::string(page.status().message())};
    if (!page.ok()) return page.status();
    const WorkloadPage::RuleLook look = page->Look(record.hang().token());
    if (!look.held) return Effect{Presence::kAbsent, "no rule of it in the workload's page"};
    return EffectOf(look);
  }
};

}  // namespace

std::unique_ptr<Injector> MakeGpuHang() { return std::make_unique<GpuHang>(); }

// Whether the workload has a page and a GPU is only known of each process.
v1::Capability ProbeGpuHang() {
  v1::Capability capability;
  capability.set_kind(kKind);
  const Result<std::string> own = ReadFile("/proc/self/comm");
  capability.set_possible(own.ok());
  capability.set_reason(own.ok() ? "the workload's page, where it calls libtriodrill and computes on a GPU"
                                 : std::string(own.status().message()));
  return capability;
}

}  // namespace triodrill
