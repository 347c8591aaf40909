#include "triodrill/workload/rules.h"

#include <cstdlib>
#include <cstring>

#include "triodrill/workload/clock.h"
#include "triodrill/workload/hang.h"

namespace triodrill::workload {
namespace {

constexpr uint32_t kKeptAPhase = 16;

// One rule at work in one phase.
class Acting {
 public:
  Acting(Page& page, const Job& job, uint32_t number)
      : page_(page), job_(job), rule_(page.rules[number]), bit_(1u << number), stale_(job.stale[number]) {
    token_ = rule_.owner.load(std::memory_order_acquire);
    order_ = rule_.order;  // the agent may write it at any time: what is checked is this copy
    order_.tensor[kTensorName - 1] = '\0';
    order_.phase[kPhaseName - 1] = '\0';
    if (order_.elements > kMostElements && order_.kind != kStale) order_.elements = kMostElements;
  }

  void Run() {
    if (token_ == 0 || std::strcmp(order_.phase, job_.phase_name) != 0) return;
    step_ = page_.step.load(std::memory_order_relaxed);
    if (step_ < order_.from_step) return;
    if (BoottimeNanos() >= order_.deadline_boottime_ns) {
      rule_.expired.store(1, std::memory_order_relaxed);
      return Disarm();
    }
    if (order_.kind == kHang) return Hang();
    total_ = 0;
    for (uint32_t i = 0; i < job_.span_count; ++i) {
      if (NameMatches(order_.tensor, job_.spans[i].name)) total_ += job_.spans[i].elements;
    }
    if (total_ == 0) return rule_.trouble.store(kNoTensor, std::memory_order_relaxed);
    if (order_.kind == kStale) {
      if (!PutStaleBack()) return;
    } else if (order_.kind == kStuck) {
      StickLanes();
    } else {
      ChangePicked();
    }
    const uint64_t fired = rule_.fired.fetch_add(1, std::memory_order_release) + 1;
    if (order_.times != 0 && fired >= order_.times) Disarm();
  }

 private:
  // Once: the rule stays armed, for that is what the kernel looks at.
  void Hang() {
    if (rule_.fired.load(std::memory_order_relaxed) != 0) return;
    rule_.begun_ns = MonotonicNanos();
    rule_.step = step_;
    const uint32_t trouble = HangGpu(page_, bit_, rule_, order_.deadline_boottime_ns - BoottimeNanos());
    rule_.done_ns = MonotonicNanos();
    rule_.trouble.store(trouble, std::memory_order_relaxed);
    rule_.fired.store(1, std::memory_order_release);
    if (trouble != kNoTrouble) Disarm();
  }

  void Disarm() { page_.armed.fetch_and(~bit_, std::memory_order_seq_cst); }

  // The span that holds element `index` of all that match, and which of its own it is.
  const Span* Locate(uint64_t index, uint64_t* within) const {
    for (uint32_t i = 0; i < job_.span_count; ++i) {
      const Span& span = job_.spans[i];
      if (!NameMatches(order_.tensor, span.name)) continue;
      if (index < span.elements) {
        *within = index;
        return &span;
      }
      index -= span.elements;
    }
    return nullptr;
  }

  void ChangePicked() {
    uint64_t drawn[kMostElements];
    for (uint32_t i = 0; i < order_.elements; ++i) {
      uint64_t within = 0;
      drawn[i] = Pick(order_, total_, i, drawn);
      const Span* span = Locate(drawn[i], &within);
      if (span == nullptr) return rule_.trouble.store(kDoesNotFit, std::memory_order_relaxed);
      MutateOne(*span, within);
    }
  }

  void StickLanes() {
    const uint64_t lanes = order_.lanes == 0 ? 1 : order_.lanes;
    uint64_t first = 0;
    for (uint32_t i = 0; i < job_.span_count; ++i) {
      const Span& span = job_.spans[i];
      if (!NameMatches(order_.tensor, span.name)) continue;
      const uint64_t wanted = order_.index % lanes;
      for (uint64_t at = (wanted + lanes - first % lanes) % lanes; at < span.elements; at += lanes) MutateOne(span, at);
      first += span.elements;
    }
  }

  void MutateOne(const Span& span, uint64_t within) {
    const uint64_t before = LoadRaw(span, within);
    uint64_t after = 0;
    if (!Mutate(order_, span.dtype, before, &after)) {
      return rule_.trouble.store(kDoesNotFit, std::memory_order_relaxed);
    }
    if (before != after) Change(span, within, before, after);
  }

  void Change(const Span& span, uint64_t within, uint64_t before, uint64_t after) {
    const uint64_t changed = rule_.changed.load(std::memory_order_relaxed);
    const int64_t begun = changed == 0 || kept_ < kKeptAPhase ? MonotonicNanos() : 0;
    StoreRaw(span, within, after);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (changed == 0) {
      rule_.begun_ns = begun;
      rule_.done_ns = MonotonicNanos();
      rule_.step = step_;
      rule_.index = within;
      rule_.before = before;
      rule_.after = after;
    }
    rule_.changed.store(changed + 1, std::memory_order_release);
    if (kept_++ < kKeptAPhase) Keep(span, begun, within, before, after);
  }

  void Keep(const Span& span, int64_t at, uint64_t within, uint64_t before, uint64_t after) {
    const uint64_t number = page_.fired_count.load(std::memory_order_relaxed) + 1;
    Fired& fired = page_.fired[(number - 1) % kMostFired];
    fired.number.exchange(0, std::memory_order_acq_rel);  // nothing below is seen before it is 0
    fired.token = token_;
    fired.step = step_;
    fired.monotonic_ns = at;
    fired.index = within;
    fired.before = before;
    fired.after = after;
    fired.dtype = span.dtype;
    fired.phase = job_.phase;
    std::strncpy(fired.tensor, span.name, kTensorName - 1);
    fired.tensor[kTensorName - 1] = '\0';
    fired.number.store(number, std::memory_order_release);
    page_.fired_count.store(number, std::memory_order_release);
  }

  // False the first time, when there is only something to remember.
  bool PutStaleBack() {
    const uint64_t all = order_.index < total_ ? total_ - order_.index : 0;
    const uint64_t wanted = order_.elements == 0 || order_.elements > all ? all : order_.elements;
    const bool known = stale_.token == token_;
    if (!known) {
      if (stale_.memory == nullptr) stale_.memory = static_cast<char*>(std::malloc(kMostStaleBytes));
      if (stale_.memory == nullptr) return false;
      stale_.token = token_;
      stale_.bytes = 0;
    }
    uint64_t offset = 0;
    for (uint64_t i = 0; i < wanted; ++i) {
      uint64_t within = 0;
      const Span* span = Locate(order_.index + i, &within);
      if (span == nullptr) break;
      const uint32_t width = WidthOf(span->dtype);
      const uint64_t now = LoadRaw(*span, within);
      uint64_t old = 0;
      if (offset + width > (known ? stale_.bytes : kMostStaleBytes)) break;
      if (known) {
        std::memcpy(&old, stale_.memory + offset, width);
        if (old != now) Change(*span, within, now, old);
      } else {
        std::memcpy(stale_.memory + offset, &now, width);
      }
      offset += width;
    }
    if (!known) stale_.bytes = offset;
    return known;
  }

  Page& page_;
  const Job& job_;
  Rule& rule_;
  const uint32_t bit_;
  StaleBlock& stale_;
  RuleOrder order_;
  uint64_t token_ = 0;
  uint64_t step_ = 0;
  uint64_t total_ = 0;
  uint32_t kept_ = 0;
};

}  // namespace

void ActOnRules(Page& page, const Job& job) {
  // `acting` first, then `armed` again: whoever disarms and then sees 0 knows that the rule does nothing any more.
  page.acting.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t armed = page.armed.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < kMostRules; ++i) {
    if ((armed >> i & 1) != 0) Acting(page, job, i).Run();
  }
  page.acting.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace triodrill::workload
