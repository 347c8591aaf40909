#include "injectors/gpu/burn.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "injectors/gpu/burn_order.h"
#include "injectors/gpu/cuda.h"
#include "injectors/gpu/target.h"
#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/shared_page.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "gpu.burn";
constexpr Nanos kDefaultPeriod = std::chrono::milliseconds(20);

bool BeginsWell(void* memory) {
  const auto* const page = static_cast<const BurnPage*>(memory);
  return page->magic.load(std::memory_order_acquire) == kBurnMagic && page->layout == kBurnLayout &&
         page->bytes == sizeof(BurnPage);
}

constexpr SharedPageKind kPage = {"the burn's page", kBurnPageLink, sizeof(BurnPage), &BeginsWell};

// What the program's page says; none where it has none yet, or has ended.
std::optional<Effect> EffectIn(const ProcessHandle& program) {
  const Result<SharedPage> shared = SharedPage::Find(program, kPage);
  if (!shared.ok() || shared->get() == nullptr) return std::nullopt;
  const auto& page = *static_cast<const BurnPage*>(shared->get());
  const uint64_t launches = page.launches;
  const uint32_t counting = page.multiprocessors;
  const double since = static_cast<double>(std::max<uint64_t>(page.since_ns, 1));
  const bool landed = launches > 0 && counting > 0 && counting == page.wanted;
  return Effect{
      landed ? Presence::kPresent : Presence::kAbsent,
      absl::StrFormat("its kernel counts on %d of %d multiprocessors, %d rounds in %d launches, and had %.1f%% "
                      "of the time so far",
                      counting, page.wanted.load(), page.rounds.load(), launches,
                      static_cast<double>(page.busy_ns) / since * 100)};
}

class GpuBurn final : public Injector {
 public:
  explicit GpuBurn(std::string program) : helper_(kBurnProgram, kBurnCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::GpuBurn& with = fault.with().gpu_burn();
    if (!(with.duty() >= 1 && with.duty() <= 100) || !(with.multiprocessors() >= 0 && with.multiprocessors() <= 100)) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": duty and multiprocessors are 1% to 100%"));
    }
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const GpuTarget target, FindGpu(fault, nvml_));
    TRIODRILL_RETURN_IF_ERROR(CheckCudaLibrary(CudaLibraryFor(target.nvml->library())));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewGpuRecord(fault, target, "burn"));
    record.mutable_gpu()->set_token(HelperToken(fault, target.uuid));
    record.set_by_hand(
        Cat("end every ", kBurnProgram, " with ", TokenArgument(record.gpu().token()), " on its command line"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::GpuBurn& with = record.fault().with().gpu_burn();
    BurnOrder order;
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.gpu().token()));
    order.library = CudaLibraryFor(record.gpu().library());
    order.uuid = record.gpu().uuid();
    order.multiprocessors = with.multiprocessors() > 0 ? with.multiprocessors() / 100 : 1;
    order.duty = with.duty() / 100;
    order.period = with.has_period() ? ToNanos(with.period()) : kDefaultPeriod;
    order.memory = with.bound() == v1::BURN_BOUND_MEMORY;
    return helper_.Start(order.common, BurnArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_RETURN_IF_ERROR(helper_.End(record.gpu().token()));
    Step("burn: program ended");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: kernels do not survive a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.gpu().token()));
    for (const ProcessHandle& program : programs) {
      if (const std::optional<Effect> effect = EffectIn(program)) return *effect;
    }
    return Effect{Presence::kAbsent, programs.empty() ? Cat("no ", kBurnProgram, " for it")
                                                      : Cat(kBurnProgram, " has not launched its kernel yet")};
  }

 private:
  const Helper helper_;
  NvmlConnection nvml_;
};

}  // namespace

std::unique_ptr<Injector> MakeGpuBurn(std::string program) { return std::make_unique<GpuBurn>(std::move(program)); }

v1::Capability ProbeGpuBurn() {
  v1::Capability capability = ProbeNvml(kKind);
  if (!capability.possible()) return capability;
  const std::string library = CudaLibraryFor(NvmlLibrary());
  const Status found = CheckCudaLibrary(library);
  capability.set_possible(found.ok());
  capability.set_reason(found.ok() ? Cat("CUDA, ", library) : std::string(found.message()));
  return capability;
}

}  // namespace triodrill
