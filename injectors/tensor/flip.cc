#include "injectors/tensor/flip.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "injectors/tensor/workload_page.h"
#include "triodrill/workload.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "tensor.flip";

// FNV-1a: the same in every process and on every machine.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

uint32_t BitsOf(uint32_t dtype) {
  switch (dtype) {
    case TRIODRILL_INT8:
      return 8;
    case TRIODRILL_FLOAT16:
    case TRIODRILL_BFLOAT16:
      return 16;
    case TRIODRILL_FLOAT32:
    case TRIODRILL_INT32:
      return 32;
    default:
      return 64;
  }
}

std::string TensorOf(const v1::TensorFlip& with) { return with.tensor().empty() ? "gradients" : with.tensor(); }

std::string PhaseOf(const v1::TensorFlip& with) {
  if (!with.phase().empty()) return with.phase();
  const std::string tensor = TensorOf(with);
  const std::string family = tensor.substr(0, tensor.find('/'));
  if (family == "gradients") return "gradients";
  return family == "reduced_gradients" ? "reduced" : "applied";
}

bool IsPartOf(const std::string& name, const std::string& wanted) {
  return name == wanted || name.starts_with(wanted + "/");
}

std::string NamesOf(const std::vector<WorkloadPage::Tensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const WorkloadPage::Tensor& one) { out->append(one.name); });
}

Status CheckTensor(const WorkloadPage& page, const v1::TensorFlip& with) {
  const std::string wanted = TensorOf(with);
  std::vector<WorkloadPage::Tensor> tensors;
  uint64_t total = 0;
  uint32_t bits = 64;
  // Frameworks make gradients anew in each step: they may be missing for a moment.
  LookUntil(std::chrono::seconds(1), [&] {
    tensors = page.Tensors();
    total = 0;
    for (const WorkloadPage::Tensor& tensor : tensors) {
      if (!IsPartOf(tensor.name, wanted)) continue;
      total += tensor.elements;
      bits = std::min(bits, BitsOf(tensor.dtype));
    }
    return total > 0;
  });
  const auto refused = [&](std::string_view why) {
    return absl::FailedPreconditionError(Cat("prepare ", kKind, " on '", wanted, "': ", why));
  };
  if (total == 0) {
    return refused(
        Cat("the workload has registered no such tensor; it has: ", tensors.empty() ? "none" : NamesOf(tensors)));
  }
  if (with.bit() < 0 || static_cast<uint32_t>(with.bit()) >= bits) {
    return refused(Cat("bit ", with.bit(), " is outside its elements of ", bits, " bits"));
  }
  const uint64_t first = with.index() < 0 ? 0 : static_cast<uint64_t>(with.index());
  const uint64_t count = static_cast<uint64_t>(std::max(with.elements(), 1));
  if (count > workload::kMostElements || first >= total || count > total - first) {
    return refused(Cat(count, " elements from ", first, " on are outside its ", total, ", or more than ",
                       workload::kMostElements));
  }
  return Ok();
}

Status CheckPhase(const WorkloadPage& page, const std::string& phase) {
  const std::vector<std::string> known = page.Phases();
  if (std::find(known.begin(), known.end(), phase) != known.end()) return Ok();
  return absl::FailedPreconditionError(Cat("prepare ", kKind, ": the workload knows no phase '", phase,
                                           "'; it knows: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

workload::RuleOrder OrderFrom(const v1::UndoRecord& record, Nanos until) {
  const v1::TensorFlip& with = record.fault().with().tensor_flip();
  workload::RuleOrder order{};
  order.kind = workload::kFlip;
  order.pick = with.index() < 0 ? workload::kBySeed : workload::kByIndex;
  order.bit = static_cast<uint32_t>(with.bit());
  order.elements = static_cast<uint32_t>(std::max(with.elements(), 1));
  order.index = with.index() < 0 ? 0 : static_cast<uint64_t>(with.index());
  order.seed = record.tensor().seed();
  order.times = static_cast<uint64_t>(std::max(with.times(), 0));
  order.deadline_boottime_ns = until.count();
  std::strncpy(order.tensor, record.tensor().tensor().c_str(), workload::kTensorName - 1);
  std::strncpy(order.phase, record.tensor().phase().c_str(), workload::kPhaseName - 1);
  return order;
}

std::string EvidenceOf(const WorkloadPage::RuleLook& look) {
  if (look.changed > 0) {
    return absl::StrFormat(
        "element %d was %#x, is %#x, after step %d; written by the workload between %d and %d ns of its monotonic "
        "clock; "
        "%d elements in %d phases so far%s",
        look.index, look.before, look.after, look.step, look.begun_ns, look.done_ns, look.changed, look.fired,
        look.armed ? "" : "; the rule is used up");
  }
  std::string text = look.armed ? "the rule is armed, its phase has not begun" : "the rule is not armed";
  if (look.expired) text = "the rule's time was up before it acted";
  if (look.trouble == workload::kNoTensor) text += "; the tensor was not registered when it did";
  if (look.trouble == workload::kDoesNotFit) text += "; the elements did not fit the rule";
  return text;
}

class TensorFlip final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    const v1::TensorFlip& with = fault.with().tensor_flip();
    const std::string tensor = TensorOf(with);
    const std::string phase = PhaseOf(with);
    if (tensor.size() >= workload::kTensorName || phase.size() >= workload::kPhaseName) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": the name of the tensor or the phase is too long"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const WorkloadPage page, WorkloadPage::Open(process));
    TRIODRILL_RETURN_IF_ERROR(CheckTensor(page, with));
    TRIODRILL_RETURN_IF_ERROR(CheckPhase(page, phase));
    if (page.FreeRules() == 0) {
      return absl::ResourceExhaustedError(Cat("prepare ", kKind, ": the workload's page has no place for a rule"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record,
                               NewUndoRecord(fault, ProcessResource(who, Cat("tensor/", tensor))));
    v1::TensorPrior& prior = *record.mutable_tensor();
    prior.set_token(HashOf(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks()))));
    prior.set_tensor(tensor);
    prior.set_phase(phase);
    prior.set_seed(with.seed() > 0 ? static_cast<uint64_t>(with.seed()) : HashOf(fault.shot()));
    record.set_by_hand(Cat("nothing: the rule ends by itself when the fault's maximum hold is over, and with pid ",
                           who.pid(), "; what the job has computed meanwhile stays"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    Nanos until(record.expires_boottime_ns());
    if (until <= Nanos(0) && record.max_hold_ns() > 0) until = SinceBoot() + Nanos(record.max_hold_ns());
    if (until <= Nanos(0)) return absl::InvalidArgumentError(Cat("apply ", kKind, ": the record has no maximum hold"));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    TRIODRILL_ASSIGN_OR_RETURN(WorkloadPage page, WorkloadPage::Open(process));
    Step("tensor: page opened");
    return page.Arm(record.tensor().token(), OrderFrom(record, until));
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
    const bool flipped = look.changed > 0 && look.before != look.after;
    return Effect{flipped ? Presence::kPresent : Presence::kAbsent, EvidenceOf(look)};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeTensorFlip() { return std::make_unique<TensorFlip>(); }

v1::Capability ProbeTensorFlip() {
  v1::Capability capability;
  capability.set_kind(kKind);
  // Whether the workload has a page is only known of each process.
  const bool readable = ::access("/proc/self/fd", R_OK | X_OK) == 0;
  capability.set_possible(readable);
  capability.set_reason(readable ? "the workload's page, where it calls libtriodrill"
                                 : std::string(ErrnoStatus("list", "/proc/self/fd").message()));
  return capability;
}

}  // namespace triodrill
