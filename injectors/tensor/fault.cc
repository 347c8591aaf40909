#include "injectors/tensor/fault.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/stable_hash.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "injectors/tensor/order.h"
#include "injectors/tensor/workload_page.h"

namespace triodrill {
namespace {

constexpr const char* kFlip = "tensor.flip";
constexpr const char* kScale = "tensor.scale";
constexpr const char* kStuckLane = "tensor.stuck_lane";
constexpr const char* kStale = "tensor.stale";
constexpr const char* kNan = "tensor.nan";

bool IsPartOf(const std::string& name, const std::string& wanted) {
  return name == wanted || name.starts_with(wanted + "/");
}

std::string NamesOf(const std::vector<WorkloadPage::Tensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const WorkloadPage::Tensor& one) { out->append(one.name); });
}

Result<tensor::Registered> LookUp(const WorkloadPage& page, const std::string& wanted) {
  std::vector<WorkloadPage::Tensor> tensors;
  tensor::Registered registered;
  // Frameworks make gradients anew in each step: they may be missing for a moment.
  LookUntil(std::chrono::seconds(1), [&] {
    tensors = page.Tensors();
    registered = {};
    for (const WorkloadPage::Tensor& one : tensors) {
      if (IsPartOf(one.name, wanted)) tensor::Add(one.dtype, one.elements, registered);
    }
    return registered.elements > 0;
  });
  if (registered.elements > 0) return registered;
  return absl::FailedPreconditionError(
      Cat("the workload has registered no such tensor; it has: ", tensors.empty() ? "none" : NamesOf(tensors)));
}

Status CheckPhase(const WorkloadPage& page, const std::string& kind, const std::string& phase) {
  const std::vector<std::string> known = page.Phases();
  if (std::find(known.begin(), known.end(), phase) != known.end()) return Ok();
  return absl::FailedPreconditionError(Cat("prepare ", kind, ": the workload knows no phase '", phase,
                                           "'; it knows: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

// What is written into the page. A stale block is a run from where it was drawn; others are drawn by the library.
Result<workload::RuleOrder> OrderOf(const v1::UndoRecord& record, Nanos until) {
  const v1::TensorPrior& prior = record.tensor();
  TRIODRILL_ASSIGN_OR_RETURN(workload::RuleOrder order, tensor::OrderFrom(record.fault().with(), prior.seed()));
  if (order.kind == workload::kStale && order.pick == workload::kBySeed) order.index = prior.start();
  order.deadline_boottime_ns = until.count();
  std::strncpy(order.tensor, prior.tensor().c_str(), workload::kTensorName - 1);
  std::strncpy(order.phase, prior.phase().c_str(), workload::kPhaseName - 1);
  return order;
}

std::string EvidenceOf(const WorkloadPage::RuleLook& look) {
  if (look.changed > 0) {
    return absl::StrFormat(
        "element %d was %#x, is %#x, after step %d; written by the workload between %d and %d ns of its monotonic "
        "clock; %d elements in %d phases so far%s",
        look.index, look.before, look.after, look.step, look.begun_ns, look.done_ns, look.changed, look.fired,
        look.armed ? "" : "; the rule is used up");
  }
  std::string text = look.armed ? "the rule is armed, its phase has not begun" : "the rule is not armed";
  if (look.expired) text = "the rule's time was up before it acted";
  if (look.trouble == workload::kNoTensor) text += "; the tensor was not registered when it did";
  if (look.trouble == workload::kDoesNotFit) text += "; the elements did not fit the rule";
  return text;
}

class TensorFault final : public Injector {
 public:
  explicit TensorFault(const char* kind) : kind_(kind) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    if (fault.kind() != kind_) return absl::InvalidArgumentError(Cat("prepare ", kind_, ": asked for ", fault.kind()));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    const tensor::Aim aim = tensor::AimOf(fault.with());
    const uint64_t seed = aim.seed != 0 ? aim.seed : StableHash(fault.shot());
    TRIODRILL_ASSIGN_OR_RETURN(const workload::RuleOrder order, tensor::OrderFrom(fault.with(), seed));
    if (aim.tensor.size() >= workload::kTensorName || aim.phase.size() >= workload::kPhaseName) {
      return absl::InvalidArgumentError(Cat("prepare ", kind_, ": the name of the tensor or the phase is too long"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const WorkloadPage page, WorkloadPage::Open(process));
    const Result<tensor::Registered> registered = LookUp(page, aim.tensor);
    const std::string why =
        registered.ok() ? tensor::WhyNot(order, *registered) : std::string(registered.status().message());
    if (!why.empty()) {
      return absl::FailedPreconditionError(Cat("prepare ", kind_, " on '", aim.tensor, "': ", why));
    }
    TRIODRILL_RETURN_IF_ERROR(CheckPhase(page, kind_, aim.phase));
    if (page.FreeRules() == 0) {
      return absl::ResourceExhaustedError(Cat("prepare ", kind_, ": the workload's page has no place for a rule"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record,
                               NewUndoRecord(fault, ProcessResource(who, Cat("tensor/", aim.tensor))));
    v1::TensorPrior& prior = *record.mutable_tensor();
    prior.set_token(StableHash(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks()))));
    prior.set_tensor(aim.tensor);
    prior.set_phase(aim.phase);
    prior.set_seed(seed);
    prior.set_start(tensor::DrawnStart(seed, registered->elements, order.elements));
    record.set_by_hand(Cat("nothing: the rule ends by itself when the fault's maximum hold is over, and with pid ",
                           who.pid(), "; what the job has computed meanwhile stays"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    Nanos until(record.expires_boottime_ns());
    if (until <= Nanos(0) && record.max_hold_ns() > 0) until = SinceBoot() + Nanos(record.max_hold_ns());
    if (until <= Nanos(0)) return absl::InvalidArgumentError(Cat("apply ", kind_, ": the record has no maximum hold"));
    TRIODRILL_ASSIGN_OR_RETURN(const workload::RuleOrder order, OrderOf(record, until));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    TRIODRILL_ASSIGN_OR_RETURN(WorkloadPage page, WorkloadPage::Open(process));
    Step("tensor: page opened");
    return page.Arm(record.tensor().token(), order);
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Ok();
    Result<WorkloadPage> page = WorkloadPage::Open(*process);
    // Given back, or never there: a rule ends with its page.
    if (absl::IsNotFound(page.status())) return Ok();
    if (!page.ok()) return page.status();
    return page->Withdraw(record.tensor().token());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    const Result<WorkloadPage> page = WorkloadPage::Open(*process);
    if (absl::IsNotFound(page.status())) return Effect{Presence::kAbsent, std::string(page.status().message())};
    if (!page.ok()) return page.status();
    const WorkloadPage::RuleLook look = page->Look(record.tensor().token());
    if (!look.held) return Effect{Presence::kAbsent, "no rule of it in the workload's page"};
    const bool changed = look.changed > 0 && look.before != look.after;
    return Effect{changed ? Presence::kPresent : Presence::kAbsent, EvidenceOf(look)};
  }

 private:
  const std::string kind_;
};

// Whether the workload has a page is only known of each process.
v1::Capability Probe(const char* kind) {
  v1::Capability capability;
  capability.set_kind(kind);
  const bool readable = ::access("/proc/self/fd", R_OK | X_OK) == 0;
  capability.set_possible(readable);
  capability.set_reason(readable ? "the workload's page, where it calls libtriodrill"
                                 : std::string(ErrnoStatus("list", "/proc/self/fd").message()));
  return capability;
}

}  // namespace

std::unique_ptr<Injector> MakeTensorFlip() { return std::make_unique<TensorFault>(kFlip); }
std::unique_ptr<Injector> MakeTensorScale() { return std::make_unique<TensorFault>(kScale); }
std::unique_ptr<Injector> MakeTensorStuckLane() { return std::make_unique<TensorFault>(kStuckLane); }
std::unique_ptr<Injector> MakeTensorStale() { return std::make_unique<TensorFault>(kStale); }
std::unique_ptr<Injector> MakeTensorNan() { return std::make_unique<TensorFault>(kNan); }

v1::Capability ProbeTensorFlip() { return Probe(kFlip); }
v1::Capability ProbeTensorScale() { return Probe(kScale); }
v1::Capability ProbeTensorStuckLane() { return Probe(kStuckLane); }
v1::Capability ProbeTensorStale() { return Probe(kStale); }
v1::Capability ProbeTensorNan() { return Probe(kNan); }

}  // namespace triodrill
