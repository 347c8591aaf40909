#include "injectors/collective/corrupt.h"

#include <cstdlib>
#include <cstring>

#include "injectors/collective/apply.h"
#include "injectors/collective/clock.h"
#include "injectors/collective/communicators.h"

namespace triodrill::collective {
namespace {

// What stale rules remember, one a rule. The memory is kept for the next rule in that place.
struct StaleBlock {
  uint64_t token;
  uint64_t elements;
  char* memory;
};
StaleBlock stale[kMostRules];

class Recorder {
 public:
  Recorder(const Corruption& what, uint32_t type, uint64_t elements)
      : what_(what), facts_(FactsOf(what.call.comm, what.call.real)), elements_(elements) {
    type_ = type;
    begun_ = MonotonicNanos();
  }

  HitSink Sink() {
    return {[](void* recorder, const Hit& hit) { static_cast<Recorder*>(recorder)->Found(hit); }, this};
  }

 private:
  void Found(const Hit& hit) {
    Rule& rule = what_.rule;
    const uint64_t changed = rule.changed.load(std::memory_order_relaxed);
    if (changed == 0) {
      rule.step.store(what_.step, std::memory_order_relaxed);
      rule.call.store(what_.matched, std::memory_order_relaxed);
      rule.index.store(hit.index, std::memory_order_relaxed);
      rule.before.store(hit.before, std::memory_order_relaxed);
      rule.after.store(hit.after, std::memory_order_relaxed);
      rule.begun_ns.store(begun_, std::memory_order_relaxed);
      rule.done_ns.store(MonotonicNanos(), std::memory_order_relaxed);
    }
    rule.changed.store(changed + 1, std::memory_order_release);
    if (kept_++ < kMostHitsOfACall) Keep(hit);
  }

  void Keep(const Hit& hit) {
    Page& page = what_.page;
    const uint64_t number = page.hit_count.load(std::memory_order_relaxed) + 1;
    HitRecord& record = page.hits[(number - 1) % kMostHits];
    record.number.exchange(0, std::memory_order_acq_rel);  // nothing below is seen before it is 0
    record.token = what_.token;
    record.call = what_.matched;
    record.index = hit.index;
    record.before = hit.before;
    record.after = hit.after;
    record.monotonic_ns = begun_;
    record.type = type_;
    record.operation = what_.call.operation;
    record.moment = what_.order.moment;
    record.comm_ranks = facts_.ranks;
    record.comm_rank = facts_.rank;
    record.communicator = facts_.number;
    record.elements = elements_;
    record.number.store(number, std::memory_order_release);
    page.hit_count.store(number, std::memory_order_release);
  }

  const Corruption& what_;
  const CommFacts facts_;
  const uint64_t elements_;
  uint32_t type_ = 0;
  int64_t begun_ = 0;
  uint32_t kept_ = 0;
};

// False if there is no memory for it.
bool Remember(const Corruption& what, const corruption::Order& order, const Buffer& buffer) {
  StaleBlock& block = stale[what.number];
  if (block.memory == nullptr) block.memory = static_cast<char*>(std::malloc(kMostStaleBytes));
  if (block.memory == nullptr) return false;
  const uint64_t width = corruption::BytesOf(order.type);
  uint64_t elements = order.index < buffer.elements ? buffer.elements - order.index : 0;
  if (elements > order.count) elements = order.count;
  if (elements > kMostStaleBytes / width) elements = kMostStaleBytes / width;
  if (elements > 0) {
    std::memcpy(block.memory, static_cast<const char*>(buffer.data) + order.index * width, elements * width);
  }
  block.elements = elements;
  block.token = what.token;
  return true;
}

// The order with the call's type in it, where it says none itself.
corruption::Order Completed(const RuleOrder& order, uint32_t type) {
  corruption::Order full = order.corruption;
  if (full.type != corruption::kNoType) return full;
  full.type = type;
  if (full.ranged != 0) {
    full.low = corruption::RawOf(type, order.low_value);
    full.high = corruption::RawOf(type, order.high_value);
  }
  return full;
}

uint64_t RanksOf(const Call& call) {
  const CommFacts facts = FactsOf(call.comm, call.real);
  return facts.ranks > 0 ? static_cast<uint64_t>(facts.ranks) : 1;
}

bool IsRoot(const Call& call) { return FactsOf(call.comm, call.real).rank == call.peer; }

}  // namespace

Buffer BufferOf(const Call& call, uint32_t moment) {
  const bool before = moment == kBefore;
  // What a rank hands over is its own to lose: the shim writes into it as a faulty device would.
  void* const data = before ? const_cast<void*>(call.send) : call.recv;
  switch (call.operation) {
    case kReduceScatter:
      return {data, before ? call.count * RanksOf(call) : call.count};
    case kAllGather:
      return {data, before ? call.count : call.count * RanksOf(call)};
    case kBroadcast:
      if (before && !IsRoot(call)) return {nullptr, 0};
      return {data, call.count};
    case kReduce:
      if (!before && !IsRoot(call)) return {nullptr, 0};
      return {data, call.count};
    default:
      return {data, call.count};
  }
}

bool NeedsToRemember(const RuleOrder& order, uint32_t number, uint64_t token) {
  return order.stale != 0 && stale[number].token != token;
}

void Corrupt(const Corruption& what) {
  const auto trouble = [&](uint32_t why) { what.rule.trouble.store(why, std::memory_order_relaxed); };
  if (what.page.memory.load(std::memory_order_relaxed) != kHostMemory) return trouble(kDeviceMemory);
  const corruption::Order order = Completed(what.order, nccl::TypeOf(what.call.type));
  const Buffer buffer = BufferOf(what.call, what.order.moment);
  if (buffer.data == nullptr || !corruption::Fits(order)) return trouble(kDoesNotFit);
  if (NeedsToRemember(what.order, what.number, what.token)) {
    if (!Remember(what, order, buffer)) trouble(kNoMemory);
    return;
  }
  const StaleBlock& block = stale[what.number];
  Memory memory{buffer.data, buffer.elements, nullptr, 0};
  if (what.order.stale != 0) memory = {buffer.data, buffer.elements, block.memory, block.elements};
  Recorder recorder(what, order.type, buffer.elements);
  Apply(order, memory, what.matched, recorder.Sink());
  what.rule.acted.fetch_add(1, std::memory_order_release);
}

}  // namespace triodrill::collective
