#include "injectors/tensor/workload_page.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "injectors/os/clock.h"
#include "injectors/os/step.h"
#include "triodrill/kernels/layout.h"

namespace triodrill {
namespace {

using workload::Page;
using workload::Rule;

std::string TextOf(const char* bytes, size_t room) { return {bytes, ::strnlen(bytes, room)}; }

bool BeginsWell(void* memory) {
  auto* const page = static_cast<Page*>(memory);
  return page->magic.load(std::memory_order_acquire) == workload::kMagic && page->layout == workload::kLayout &&
         page->bytes == sizeof(Page);
}

constexpr SharedPageKind kKind = {"the workload's page", workload::kPageLink, sizeof(Page), &BeginsWell};

}  // namespace

Result<WorkloadPage> WorkloadPage::Open(const ProcessHandle& process) {
  TRIODRILL_ASSIGN_OR_RETURN(SharedPage shared, SharedPage::Find(process, kKind));
  if (shared.get() != nullptr) return WorkloadPage(std::move(shared));
  return absl::NotFoundError(Cat("find the workload's page of ", Describe(process.identity()),
                                 ": it has none; the workload must call triodrill_attach of libtriodrill"));
}

std::vector<WorkloadPage::Tensor> WorkloadPage::Tensors() const {
  std::vector<Tensor> tensors;
  for (workload::TensorEntry& entry : page_->tensors) {
    Tensor tensor;
    // Bounded: an owner that never ends writing hides one tensor, and no more.
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint32_t before = entry.sequence.load(std::memory_order_acquire);
      tensor = {TextOf(entry.name, workload::kTensorName), entry.elements, entry.dtype};
      // Adds nothing, but what was read above cannot be read after it.
      if (before % 2 == 0 && entry.sequence.fetch_add(0, std::memory_order_acq_rel) == before) break;
      tensor = {};
    }
    if (tensor.dtype != 0 && !tensor.name.empty()) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<std::string> WorkloadPage::Phases() const {
  const uint32_t count = std::min(page_->phase_count.load(std::memory_order_acquire), workload::kMostPhases);
  std::vector<std::string> names;
  for (uint32_t i = 1; i <= count; ++i) names.push_back(TextOf(page_->phase_names[i], workload::kPhaseName));
  return names;
}

int WorkloadPage::FreeRules() const {
  int free = 0;
  for (const Rule& rule : page_->rules) free += rule.owner.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  return free;
}

Status WorkloadPage::Arm(uint64_t token, const workload::RuleOrder& order) {
  TRIODRILL_RETURN_IF_ERROR(Withdraw(token));
  for (uint32_t i = 0; i < workload::kMostRules; ++i) {
    Rule& rule = page_->rules[i];
    uint64_t nobody = 0;
    if (!rule.owner.compare_exchange_strong(nobody, token, std::memory_order_acq_rel)) continue;
    Step("tensor: place claimed");
    rule.order = order;
    rule.fired.store(0, std::memory_order_relaxed);
    rule.changed.store(0, std::memory_order_relaxed);
    rule.trouble.store(workload::kNoTrouble, std::memory_order_relaxed);
    rule.expired.store(0, std::memory_order_relaxed);
    rule.gpu_state.store(kernels::kHangNone, std::memory_order_relaxed);
    rule.gpu_code.store(0, std::memory_order_relaxed);
    Step("tensor: rule written");
    page_->armed.fetch_or(1u << i, std::memory_order_seq_cst);
    Step("tensor: armed");
    return Ok();
  }
  return absl::ResourceExhaustedError(
      "arm a rule in the workload's page: all places are taken; end other faults first");
}

Status WorkloadPage::Withdraw(uint64_t token) {
  uint32_t ours = 0;
  for (uint32_t i = 0; i < workload::kMostRules; ++i) {
    if (page_->rules[i].owner.load(std::memory_order_acquire) == token) ours |= 1u << i;
  }
  if (ours == 0) return Ok();
  page_->armed.fetch_and(~ours, std::memory_order_seq_cst);
  Step("tensor: disarmed");
  // The library raises `acting` before it reads `armed` again: once it is 0, nothing of these rules is under way.
  const bool quiet =
      LookUntil(std::chrono::seconds(2), [this] { return page_->acting.load(std::memory_order_seq_cst) == 0; });
  // A kernel looks at the same word: given away too early, the place would make it wait for another's rule.
  const bool released = LookUntil(std::chrono::seconds(2), [&] { return !WaitsOnGpu(ours); });
  if (quiet && !released) {
    return absl::DeadlineExceededError(
        "withdraw a rule from the workload's page: its kernel on the GPU has not ended, or waits behind other work");
  }
  if (!quiet) {
    return absl::DeadlineExceededError(
        "withdraw a rule from the workload's page: the workload is applying it and does not come to an end; is it "
        "stopped?");
  }
  for (uint32_t i = 0; i < workload::kMostRules; ++i) {
    if ((ours >> i & 1) != 0) page_->rules[i].owner.store(0, std::memory_order_release);
  }
  Step("tensor: place given back");
  return Ok();
}

bool WorkloadPage::WaitsOnGpu(uint32_t rules) const {
  for (uint32_t i = 0; i < workload::kMostRules; ++i) {
    const uint32_t state = page_->rules[i].gpu_state.load(std::memory_order_seq_cst);
    const bool waits = state == kernels::kHangLaunched || state == kernels::kHangSpins;
    if ((rules >> i & 1) != 0 && waits) return true;
  }
  return false;
}

WorkloadPage::RuleLook WorkloadPage::Look(uint64_t token) const {
  RuleLook look;
  for (uint32_t i = 0; i < workload::kMostRules; ++i) {
    const Rule& rule = page_->rules[i];
    if (rule.owner.load(std::memory_order_acquire) != token) continue;
    look.held = true;
    look.armed = (page_->armed.load(std::memory_order_acquire) >> i & 1) != 0;
    look.expired = rule.expired.load(std::memory_order_acquire) != 0;
    look.trouble = rule.trouble.load(std::memory_order_acquire);
    look.fired = rule.fired.load(std::memory_order_acquire);
    look.changed = rule.changed.load(std::memory_order_acquire);
    look.gpu_state = rule.gpu_state.load(std::memory_order_acquire);
    look.gpu_code = rule.gpu_code.load(std::memory_order_acquire);
    if (look.changed == 0 && (look.fired == 0 || look.gpu_state == kernels::kHangNone)) return look;
    look.step = rule.step;
    look.index = rule.index;
    look.before = rule.before;
    look.after = rule.after;
    look.begun_ns = rule.begun_ns;
    look.done_ns = rule.done_ns;
    return look;
  }
  return look;
}

}  // namespace triodrill
