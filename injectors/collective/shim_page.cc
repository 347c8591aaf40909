#include "injectors/collective/shim_page.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

using collective::HitRecord;
using collective::Page;
using collective::Rule;

bool BeginsWell(void* memory) {
  auto* const page = static_cast<Page*>(memory);
  return page->magic.load(std::memory_order_acquire) == collective::kMagic && page->layout == collective::kLayout &&
         page->bytes == sizeof(Page);
}

constexpr SharedPageKind kKind = {"the NCCL shim's page", collective::kPageLink, sizeof(Page), &BeginsWell};

// Why a process has no page, as far as can be seen.
std::string WhyNone(const ProcessHandle& process) {
  const Result<std::string> maps = ReadFile(Cat("/proc/", process.identity().pid(), "/maps"));
  if (!maps.ok() || maps->find("libtriodrill_nccl.so") == std::string::npos) {
    return "it does not run with libtriodrill_nccl.so; start the job with LD_PRELOAD of it";
  }
  return "libtriodrill_nccl.so is loaded and no NCCL call has come through it: NCCL may be linked statically, or "
         "loaded by dlopen, for which LD_AUDIT of libtriodrill_nccl_audit.so is needed; or the job has made no call "
         "yet";
}

}  // namespace

Result<ShimPage> ShimPage::Open(const ProcessHandle& process) {
  TRIODRILL_ASSIGN_OR_RETURN(SharedPage shared, SharedPage::Find(process, kKind));
  if (shared.get() != nullptr) return ShimPage(std::move(shared));
  return absl::NotFoundError(
      Cat("find the NCCL shim's page of ", Describe(process.identity()), ": ", WhyNone(process)));
}

std::array<uint64_t, collective::kOperations> ShimPage::Calls() const {
  std::array<uint64_t, collective::kOperations> calls{};
  for (size_t i = 0; i < calls.size(); ++i) calls[i] = page_->calls[i].load(std::memory_order_relaxed);
  return calls;
}

collective::MemoryKind ShimPage::Memory() const {
  const uint32_t kind = page_->memory.load(std::memory_order_relaxed);
  return kind == collective::kHostMemory ? collective::kHostMemory : collective::kInDeviceMemory;
}

uint32_t ShimPage::Communicators() const { return page_->communicators.load(std::memory_order_relaxed); }

int ShimPage::FreeRules() const {
  int free = 0;
  for (const Rule& rule : page_->rules) free += rule.owner.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  return free;
}

Status ShimPage::Arm(uint64_t token, const collective::RuleOrder& order) {
  TRIODRILL_RETURN_IF_ERROR(Withdraw(token));
  for (uint32_t i = 0; i < collective::kMostRules; ++i) {
    Rule& rule = page_->rules[i];
    uint64_t nobody = 0;
    if (!rule.owner.compare_exchange_strong(nobody, token, std::memory_order_acq_rel)) continue;
    Step("collective: place claimed");
    rule.order = order;
    for (std::atomic<uint64_t>* counter : {&rule.matched, &rule.acted, &rule.changed}) counter->store(0);
    for (std::atomic<uint32_t>* word : {&rule.trouble, &rule.expired, &rule.holding}) word->store(0);
    rule.begun_ns.store(0);
    rule.done_ns.store(0);
    Step("collective: rule written");
    page_->armed.fetch_or(1u << i, std::memory_order_seq_cst);
    Step("collective: armed");
    return Ok();
  }
  return absl::ResourceExhaustedError(
      "arm a rule in the NCCL shim's page: all places are taken; end other faults first");
}

Status ShimPage::Withdraw(uint64_t token) {
  uint32_t ours = 0;
  for (uint32_t i = 0; i < collective::kMostRules; ++i) {
    if (page_->rules[i].owner.load(std::memory_order_acquire) == token) ours |= 1u << i;
  }
  if (ours == 0) return Ok();
  page_->armed.fetch_and(~ours, std::memory_order_seq_cst);
  Step("collective: disarmed");
  // The shim raises `acting` before it reads `armed` again: once it is 0, nothing of these rules is under way. Another
  // rule may hold a call for long: then it is enough that ours hold none, and a short look.
  const bool quiet = LookUntil(std::chrono::seconds(2), [&] {
    if (page_->acting.load(std::memory_order_seq_cst) == 0) return true;
    uint32_t others = 0;
    for (uint32_t i = 0; i < collective::kMostRules; ++i) {
      const uint32_t holding = page_->rules[i].holding.load(std::memory_order_seq_cst);
      if ((ours >> i & 1) != 0 && holding != 0) return false;
      others += holding;
    }
    return others != 0 && page_->acting.load(std::memory_order_seq_cst) <= others;
  });
  if (!quiet) {
    return absl::DeadlineExceededError(
        "withdraw a rule from the NCCL shim's page: a call of NCCL is at work on it and does not come to an end; is "
        "the "
        "process stopped?");
  }
  for (uint32_t i = 0; i < collective::kMostRules; ++i) {
    if ((ours >> i & 1) != 0) page_->rules[i].owner.store(0, std::memory_order_release);
  }
  Step("collective: place given back");
  return Ok();
}

ShimPage::RuleLook ShimPage::Look(uint64_t token) const {
  RuleLook look;
  for (uint32_t i = 0; i < collective::kMostRules; ++i) {
    const Rule& rule = page_->rules[i];
    if (rule.owner.load(std::memory_order_acquire) != token) continue;
    look.held = true;
    look.armed = (page_->armed.load(std::memory_order_acquire) >> i & 1) != 0;
    look.expired = rule.expired.load(std::memory_order_acquire) != 0;
    look.trouble = rule.trouble.load(std::memory_order_acquire);
    look.holding = rule.holding.load(std::memory_order_acquire);
    look.matched = rule.matched.load(std::memory_order_acquire);
    look.acted = rule.acted.load(std::memory_order_acquire);
    look.changed = rule.changed.load(std::memory_order_acquire);
    look.begun_ns = rule.begun_ns.load(std::memory_order_acquire);
    look.done_ns = rule.done_ns.load(std::memory_order_acquire);
    look.step = rule.step.load(std::memory_order_acquire);
    look.call = rule.call.load(std::memory_order_acquire);
    look.index = rule.index.load(std::memory_order_acquire);
    look.before = rule.before.load(std::memory_order_acquire);
    look.after = rule.after.load(std::memory_order_acquire);
    return look;
  }
  return look;
}

std::vector<ShimPage::Change> ShimPage::Changes(uint64_t token) const {
  std::vector<Change> changes;
  const uint64_t count = page_->hit_count.load(std::memory_order_acquire);
  const uint64_t first = count > collective::kMostHits ? count - collective::kMostHits : 0;
  for (uint64_t i = first; i < count; ++i) {
    const HitRecord& record = page_->hits[i % collective::kMostHits];
    if (record.number.load(std::memory_order_acquire) != i + 1) continue;
    const Change change{record.call,       record.index,     record.before,      record.after,
                        record.elements,   record.type,      record.operation,   record.moment,
                        record.comm_ranks, record.comm_rank, record.communicator};
    const bool ours = record.token == token;
    // Another may have come into its place meanwhile.
    if (ours && record.number.load(std::memory_order_acquire) == i + 1) changes.push_back(change);
  }
  return changes;
}

}  // namespace triodrill
