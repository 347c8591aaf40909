#include "injectors/collective/fault.h"

#include <unistd.h>

#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "injectors/collective/order.h"
#include "injectors/collective/shim_page.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/stable_hash.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kCorrupt = "collective.corrupt";
constexpr const char* kDelay = "collective.delay";
constexpr const char* kHang = "collective.hang";
constexpr const char* kDesync = "collective.desync";

// How long a job may go without a call before its calls are held not to come through.
constexpr auto kCoverageLimit = std::chrono::seconds(5);

uint64_t CallsThrough(const ShimPage& page, uint32_t operations) {
  const auto calls = page.Calls();
  uint64_t sum = 0;
  for (size_t i = 0; i < calls.size(); ++i) sum += (operations >> i & 1) != 0 ? calls[i] : 0;
  return sum;
}

// How many calls had come through when one more did.
Result<uint64_t> ProveCoverage(const ShimPage& page, const v1::AimedFault& fault, uint32_t operations) {
  const uint64_t before = CallsThrough(page, operations);
  uint64_t now = before;
  const bool moved = LookUntil(kCoverageLimit, [&] {
    now = CallsThrough(page, operations);
    return now != before;
  });
  if (moved) return now;
  return absl::FailedPreconditionError(Cat(
      "prepare ", fault.kind(), ": no call of ", collective::OperationName(collective::CallsOf(fault.with())),
      " came through libtriodrill_nccl.so for ", kCoverageLimit.count(), " s (", before,
      " before): the job makes none, replays captured graphs, or reaches NCCL past it (linked statically, or loaded "
      "by dlopen without LD_AUDIT of libtriodrill_nccl_audit.so)"));
}

std::string TroubleText(uint32_t trouble) {
  switch (trouble) {
    case collective::kDeviceMemory:
      return "the buffers are in a GPU's memory, which the shim does not change";
    case collective::kCaptured:
      return "the call was captured into a graph, where it would act at every replay";
    case collective::kDoesNotFit:
      return "the elements' type has no such bit or change";
    case collective::kNotDone:
      return "NCCL did not say that the call was done";
    case collective::kNoMemory:
      return "the process has no memory for what is to be remembered";
    default:
      return "";
  }
}

std::string EvidenceOf(const ShimPage::RuleLook& look, uint32_t action) {
  const std::string when = absl::StrFormat("in matching call %d, after step %d", look.call, look.step);
  std::string text;
  if (action == collective::kCorrupt && look.changed > 0) {
    text = absl::StrFormat(
        "element %d was %#x, is %#x, %s; written by the shim between %d and %d ns of its monotonic clock; %d "
        "elements in %d calls so far",
        look.index, look.before, look.after, when, look.begun_ns, look.done_ns, look.changed, look.acted);
  } else if (action != collective::kCorrupt && look.acted > 0) {
    const char* const what = action == collective::kDesync ? "left out" : "held";
    text = absl::StrFormat("%d calls %s, the first %s, from %d ns of its monotonic clock on; %d held now", look.acted,
                           what, when, look.begun_ns, look.holding);
  } else {
    text = look.expired ? "the rule's time was up before it acted"
                        : absl::StrFormat("%d calls matched, none was acted on", look.matched);
  }
  if (!look.armed) text += "; the rule is used up";
  const std::string trouble = TroubleText(look.trouble);
  return trouble.empty() ? text : Cat(text, "; ", trouble);
}

bool HasLanded(const ShimPage::RuleLook& look, uint32_t action) {
  switch (action) {
    case collective::kCorrupt:
      return look.changed > 0 && look.before != look.after;
    case collective::kHang:
      return look.holding > 0;
    default:
      return look.acted > 0;
  }
}

class CollectiveFault final : public Injector {
 public:
  explicit CollectiveFault(const char* kind) : kind_(kind) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    if (fault.kind() != kind_) return absl::InvalidArgumentError(Cat("prepare ", kind_, ": asked for ", fault.kind()));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    const uint64_t seed = SeedOf(fault);
    TRIODRILL_ASSIGN_OR_RETURN(const collective::RuleOrder order, collective::OrderFrom(fault.with(), seed));
    TRIODRILL_ASSIGN_OR_RETURN(const ShimPage page, ShimPage::Open(process));
    if (order.action == collective::kCorrupt && page.Memory() != collective::kHostMemory) {
      return absl::FailedPreconditionError(Cat("prepare ", kind_, " on ", Describe(who),
                                               ": its NCCL works on the memory of a GPU, which this shim does not "
                                               "change; its calls can be delayed, held or left out"));
    }
    if (page.FreeRules() == 0) {
      return absl::ResourceExhaustedError(Cat("prepare ", kind_, ": the NCCL shim's page has no place for a rule"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const uint64_t calls, ProveCoverage(page, fault, order.operations));
    const std::string operation = collective::OperationName(collective::CallsOf(fault.with()));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record,
                               NewUndoRecord(fault, ProcessResource(who, Cat(kind_, "/", operation))));
    v1::CollectivePrior& prior = *record.mutable_collective();
    prior.set_token(StableHash(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks()))));
    prior.set_seed(seed);
    prior.set_calls(calls);
    record.set_by_hand(Cat("nothing: the rule ends by itself when the fault's maximum hold is over, and with pid ",
                           who.pid(), "; what the job has computed meanwhile stays"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    Nanos until(record.expires_boottime_ns());
    if (until <= Nanos(0) && record.max_hold_ns() > 0) until = SinceBoot() + Nanos(record.max_hold_ns());
    if (until <= Nanos(0)) return absl::InvalidArgumentError(Cat("apply ", kind_, ": the record has no maximum hold"));
    TRIODRILL_ASSIGN_OR_RETURN(collective::RuleOrder order,
                               collective::OrderFrom(record.fault().with(), record.collective().seed()));
    order.deadline_boottime_ns = until.count();
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    TRIODRILL_ASSIGN_OR_RETURN(ShimPage page, ShimPage::Open(process));
    Step("collective: page opened");
    return page.Arm(record.collective().token(), order);
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Ok();
    Result<ShimPage> page = ShimPage::Open(*process);
    // Never there, or the process began another program: a rule ends with its page.
    if (absl::IsNotFound(page.status())) return Ok();
    if (!page.ok()) return page.status();
    return page->Withdraw(record.collective().token());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    const Result<ShimPage> page = ShimPage::Open(*process);
    if (absl::IsNotFound(page.status())) return Effect{Presence::kAbsent, std::string(page.status().message())};
    if (!page.ok()) return page.status();
    const ShimPage::RuleLook look = page->Look(record.collective().token());
    if (!look.held) return Effect{Presence::kAbsent, "no rule of it in the NCCL shim's page"};
    TRIODRILL_ASSIGN_OR_RETURN(const collective::RuleOrder order,
                               collective::OrderFrom(record.fault().with(), record.collective().seed()));
    return Effect{HasLanded(look, order.action) ? Presence::kPresent : Presence::kAbsent,
                  EvidenceOf(look, order.action)};
  }

 private:
  static uint64_t SeedOf(const v1::AimedFault& fault) {
    const int64_t seed = fault.with().collective_corrupt().seed();
    return seed > 0 ? static_cast<uint64_t>(seed) : StableHash(fault.shot());
  }

  const char* const kind_;
};

// Whether a job runs with the shim is only known of each process.
v1::Capability Probe(const char* kind) {
  v1::Capability capability;
  capability.set_kind(kind);
  const bool readable = ::access("/proc/self/fd", R_OK | X_OK) == 0;
  capability.set_possible(readable);
  capability.set_reason(readable ? "the NCCL shim's page, where the job runs with libtriodrill_nccl.so"
                                 : std::string(ErrnoStatus("list", "/proc/self/fd").message()));
  return capability;
}

}  // namespace

std::unique_ptr<Injector> MakeCollectiveCorrupt() { return std::make_unique<CollectiveFault>(kCorrupt); }
std::unique_ptr<Injector> MakeCollectiveDelay() { return std::make_unique<CollectiveFault>(kDelay); }
std::unique_ptr<Injector> MakeCollectiveHang() { return std::make_unique<CollectiveFault>(kHang); }
std::unique_ptr<Injector> MakeCollectiveDesync() { return std::make_unique<CollectiveFault>(kDesync); }

v1::Capability ProbeCollectiveCorrupt() { return Probe(kCorrupt); }
v1::Capability ProbeCollectiveDelay() { return Probe(kDelay); }
v1::Capability ProbeCollectiveHang() { return Probe(kHang); }
v1::Capability ProbeCollectiveDesync() { return Probe(kDesync); }

}  // namespace triodrill
