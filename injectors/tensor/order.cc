#include "injectors/tensor/order.h"

#include <algorithm>
#include <cmath>

#include "triodrill/philox.h"
#include "triodrill/text.h"
#include "triodrill/workload.h"

namespace triodrill::tensor {
namespace {

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

uint32_t Unsigned(int32_t value) { return static_cast<uint32_t>(std::max(value, 0)); }

// Of the faults that pick some elements: which and how many.
template <typename With>
void PickInto(const With& with, uint64_t seed, workload::RuleOrder& order) {
  order.pick = with.index() < 0 ? workload::kBySeed : workload::kByIndex;
  order.elements = std::max(Unsigned(with.elements()), 1u);
  order.index = with.index() < 0 ? 0 : static_cast<uint64_t>(with.index());
  order.seed = seed;
  order.times = Unsigned(with.times());
}

template <typename With>
Aim AimFrom(const With& with) {
  return {with.tensor(), with.phase(), 0};
}

template <typename With>
Aim SeededAimFrom(const With& with) {
  Aim aim = AimFrom(with);
  aim.seed = with.seed() > 0 ? static_cast<uint64_t>(with.seed()) : 0;
  return aim;
}

Aim GivenAim(const v1::Parameters& with) {
  switch (with.of_case()) {
    case v1::Parameters::kTensorFlip:
      return SeededAimFrom(with.tensor_flip());
    case v1::Parameters::kTensorScale:
      return SeededAimFrom(with.tensor_scale());
    case v1::Parameters::kTensorStale:
      return SeededAimFrom(with.tensor_stale());
    case v1::Parameters::kTensorNan:
      return SeededAimFrom(with.tensor_nan());
    case v1::Parameters::kTensorStuckLane:
      return AimFrom(with.tensor_stuck_lane());
    default:
      return {};
  }
}

bool TouchesABit(const workload::RuleOrder& order) {
  return order.kind == workload::kFlip || order.kind == workload::kStuck;
}

}  // namespace

Aim AimOf(const v1::Parameters& with) {
  Aim aim = GivenAim(with);
  if (aim.tensor.empty()) aim.tensor = "gradients";
  if (aim.phase.empty()) {
    const std::string family = aim.tensor.substr(0, aim.tensor.find('/'));
    aim.phase = family == "gradients" ? "gradients" : family == "reduced_gradients" ? "reduced" : "applied";
  }
  return aim;
}

Result<workload::RuleOrder> OrderFrom(const v1::Parameters& with, uint64_t seed) {
  workload::RuleOrder order{};
  switch (with.of_case()) {
    case v1::Parameters::kTensorFlip:
      order.kind = workload::kFlip;
      order.bit = Unsigned(with.tensor_flip().bit());
      PickInto(with.tensor_flip(), seed, order);
      return order;
    case v1::Parameters::kTensorScale:
      order.kind = workload::kScale;
      order.factor = with.tensor_scale().factor();
      PickInto(with.tensor_scale(), seed, order);
      return order;
    case v1::Parameters::kTensorStale:
      order.kind = workload::kStale;
      PickInto(with.tensor_stale(), seed, order);
      return order;
    case v1::Parameters::kTensorNan:
      order.kind = workload::kNan;
      PickInto(with.tensor_nan(), seed, order);
      return order;
    case v1::Parameters::kTensorStuckLane: {
      const v1::TensorStuckLane& stuck = with.tensor_stuck_lane();
      order.kind = workload::kStuck;
      order.pick = workload::kByIndex;
      order.bit = Unsigned(stuck.bit());
      order.value = stuck.cleared() ? 0 : 1;
      order.elements = 1;
      order.lanes = std::max(Unsigned(stuck.lanes()), 1u);
      order.index = Unsigned(stuck.lane());
      order.times = Unsigned(stuck.times());
      return order;
    }
    default:
      return absl::InvalidArgumentError("the fault's parameters are not those of a tensor's");
  }
}

void Add(uint32_t dtype, uint64_t elements, Registered& registered) {
  const bool first = registered.elements == 0;
  const uint32_t bits = BitsOf(dtype);
  const bool scalable = dtype == TRIODRILL_FLOAT32 || dtype == TRIODRILL_FLOAT64 || dtype == TRIODRILL_BFLOAT16;
  registered.narrowest = first ? bits : std::min(registered.narrowest, bits);
  registered.scalable = scalable && (first || registered.scalable);
  registered.floating = (scalable || dtype == TRIODRILL_FLOAT16) && (first || registered.floating);
  registered.elements += elements;
}

std::string WhyNot(const workload::RuleOrder& order, const Registered& registered) {
  if (TouchesABit(order) && order.bit >= registered.narrowest) {
    return Cat("bit ", order.bit, " is outside its elements of ", registered.narrowest, " bits");
  }
  if (order.kind == workload::kScale) {
    if (!std::isfinite(order.factor)) return "the factor is not a finite number";
    if (!registered.scalable) return "its type is not one that is scaled (fp32, fp64, bf16)";
  }
  if (order.kind == workload::kNan && !registered.floating) return "its type has no not-a-number";
  if (order.kind == workload::kStuck) {
    if (order.index >= order.lanes) return Cat("lane ", order.index, " is not one of ", order.lanes);
    if (order.index >= registered.elements) {
      return Cat("lane ", order.index, " is outside its ", registered.elements, " elements");
    }
    return "";
  }
  const uint64_t count = order.elements;
  if (count > workload::kMostElements || order.index >= registered.elements ||
      count > registered.elements - order.index) {
    return Cat(count, " elements from ", order.index, " on are outside its ", registered.elements, ", or more than ",
               workload::kMostElements);
  }
  return "";
}

uint64_t DrawnStart(uint64_t seed, uint64_t total, uint64_t elements) {
  if (elements >= total) return 0;
  const uint64_t drawn = philox::Pair(philox::Draw(seed, 0, 0, 0), 0);
  return drawn % (total - elements + 1);
}

}  // namespace triodrill::tensor
