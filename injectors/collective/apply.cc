#include "injectors/collective/apply.h"

#include <cstring>

#include "injectors/collective/scan.h"
#include "triodrill/picking.h"

namespace triodrill::collective {
namespace {

using corruption::Order;

class Applying {
 public:
  Applying(const Order& order, const Memory& memory, uint64_t call, const HitSink& sink)
      : order_(order), memory_(memory), call_(call), sink_(sink) {}

  uint64_t Run() {
    if (order_.pick == corruption::kEvery && order_.ranged != 0) return Scan();
    const corruption::Shuffle shuffle(order_.seed, call_, memory_.elements);
    const uint64_t count = corruption::CountOf(order_, memory_.elements, call_);
    for (uint64_t place = 0; place < count; ++place) One(corruption::PickedAt(order_, shuffle, place));
    return changed_;
  }

 private:
  uint64_t Scan() {
    const uint32_t width = corruption::BytesOf(order_.type);
    for (uint64_t from = 0; from < memory_.elements; from += kStretch) {
      const uint64_t left = memory_.elements - from;
      const uint64_t some = left < kStretch ? left : kStretch;
      if (!AnyInRange(order_, static_cast<const char*>(memory_.data) + from * width, some)) continue;
      for (uint64_t i = 0; i < some; ++i) One(from + i);
    }
    return changed_;
  }

  void One(uint64_t index) {
    if (index >= memory_.elements) return;
    const uint64_t before = LoadRaw(order_.type, memory_.data, index);
    if (!corruption::InRange(order_, before)) return;
    uint64_t other = before;
    if (order_.change == corruption::kReplace) {
      const uint64_t at = index - order_.index;
      if (memory_.replacement != nullptr) {
        if (at < memory_.replaced) other = LoadRaw(order_.type, memory_.replacement, at);
      } else if (order_.source < memory_.elements && at < memory_.elements - order_.source) {
        other = LoadRaw(order_.type, memory_.data, order_.source + at);
      }
    }
    const uint64_t after = corruption::Changed(order_, index, before, other, call_);
    if (after == before) return;
    StoreRaw(order_.type, memory_.data, index, after);
    ++changed_;
    sink_.found(sink_.context, {index, before, after});
  }

  const Order& order_;
  const Memory& memory_;
  const uint64_t call_;
  const HitSink& sink_;
  uint64_t changed_ = 0;
};

}  // namespace

uint64_t LoadRaw(uint32_t type, const void* data, uint64_t index) {
  const uint32_t width = corruption::BytesOf(type);
  uint64_t raw = 0;
  std::memcpy(&raw, static_cast<const char*>(data) + index * width, width);
  return raw;
}

void StoreRaw(uint32_t type, void* data, uint64_t index, uint64_t raw) {
  const uint32_t width = corruption::BytesOf(type);
  std::memcpy(static_cast<char*>(data) + index * width, &raw, width);
}

uint64_t Apply(const Order& order, const Memory& memory, uint64_t call, const HitSink& sink) {
  if (!corruption::Fits(order) || memory.elements == 0) return 0;
  return Applying(order, memory, call, sink).Run();
}

}  // namespace triodrill::collective
