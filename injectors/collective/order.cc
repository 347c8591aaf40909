#include "injectors/collective/order.h"

#include <algorithm>

#include "injectors/collective/when.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill::collective {
namespace {

constexpr uint32_t kAnyOperation = (1u << kOperations) - 1;

uint64_t AtLeast(int64_t value, uint64_t least) {
  return std::max(static_cast<uint64_t>(std::max(value, int64_t{0})), least);
}

uint32_t MomentOf(v1::NcclMoment moment) { return moment == v1::MOMENT_AFTER ? kAfter : kBefore; }

uint32_t ChangeOf(v1::Corruption damage) {
  switch (damage) {
    case v1::CORRUPTION_SET:
      return corruption::kSet;
    case v1::CORRUPTION_CLEAR:
      return corruption::kClear;
    case v1::CORRUPTION_SCALE:
      return corruption::kScale;
    case v1::CORRUPTION_ZERO:
      return corruption::kZero;
    case v1::CORRUPTION_NAN:
      return corruption::kNan;
    case v1::CORRUPTION_STALE:
    case v1::CORRUPTION_DUPLICATE:
      return corruption::kReplace;
    default:
      return corruption::kFlip;
  }
}

uint32_t PickOf(v1::CorruptedElements elements) {
  switch (elements) {
    case v1::CORRUPTED_ELEMENTS_RUN:
      return corruption::kRun;
    case v1::CORRUPTED_ELEMENTS_LANE:
      return corruption::kLane;
    case v1::CORRUPTED_ELEMENTS_TILE:
      return corruption::kTile;
    case v1::CORRUPTED_ELEMENTS_CHANCE:
      return corruption::kChance;
    case v1::CORRUPTED_ELEMENTS_EVERY:
      return corruption::kEvery;
    default:
      return corruption::kDrawn;
  }
}

uint32_t FieldOf(v1::CorruptedBits bits) {
  switch (bits) {
    case v1::CORRUPTED_BITS_SIGN:
      return corruption::kSign;
    case v1::CORRUPTED_BITS_EXPONENT:
      return corruption::kExponent;
    case v1::CORRUPTED_BITS_MANTISSA:
      return corruption::kMantissa;
    default:
      return corruption::kWhole;
  }
}

corruption::Order CorruptionFrom(const v1::CollectiveCorrupt& with, uint64_t seed) {
  corruption::Order order{};
  order.change = ChangeOf(with.damage());
  order.pick = order.change == corruption::kReplace ? static_cast<uint32_t>(corruption::kRun) : PickOf(with.elements());
  order.field = FieldOf(with.bits());
  order.bit = with.bit() < 0 ? corruption::kDrawnBit : static_cast<uint32_t>(with.bit());
  order.adjacent = static_cast<uint32_t>(AtLeast(with.adjacent(), 1));
  order.factor = static_cast<float>(with.factor());
  order.ranged = with.high() > 0 ? 1 : 0;
  order.index = AtLeast(with.index(), 0);
  order.count = AtLeast(with.count(), 1);
  order.lanes = AtLeast(with.lanes(), 1);
  order.row = AtLeast(with.row(), 0);
  order.rows = AtLeast(with.rows(), 1);
  order.columns = AtLeast(with.columns(), 1);
  order.pitch = AtLeast(with.pitch(), 1);
  order.source = AtLeast(with.source(), 0);
  order.chance = with.chance();
  order.seed = seed;
  return order;
}

Status CheckFits(corruption::Order order) {
  for (uint32_t type = corruption::kInt8; type <= corruption::kFloat64; ++type) {
    order.type = type;
    if (corruption::Fits(order)) return Ok();
  }
  return absl::InvalidArgumentError(
      "collective.corrupt: no element type has such a bit, or the lane or tile is outside its rows; give `bit` within "
      "`bits`, `index` below `lanes`, and `index` + `columns` of at most `pitch`");
}

void PutCalls(const v1::NcclCalls& calls, RuleOrder* order) {
  order->operations = calls.operation() == v1::NCCL_UNSPECIFIED ? kAnyOperation : 1u << (calls.operation() - 1);
  order->communicator = static_cast<uint32_t>(AtLeast(calls.communicator(), 0));
  order->comm_ranks = std::max(calls.comm_ranks(), 0);
  order->comm_rank = -1;
  order->peer = -1;
  order->least_elements = AtLeast(calls.least_elements(), 0);
  order->from_step = AtLeast(calls.step(), 0);
  order->first = AtLeast(calls.first(), 0);
  order->burst = std::min(AtLeast(calls.burst(), 1), kMostBurst);
  order->every = AtLeast(calls.every(), 0);
  // 1 is all but certain; what is certain is written without a chance.
  const double of_2_32 = calls.chance() * 4294967296.0;
  order->chance = calls.chance() <= 0 ? 0 : static_cast<uint32_t>(std::clamp(of_2_32, 1.0, 4294967295.0));
}

}  // namespace

const v1::NcclCalls& CallsOf(const v1::Parameters& with) {
  switch (with.of_case()) {
    case v1::Parameters::kCollectiveCorrupt:
      return with.collective_corrupt().calls();
    case v1::Parameters::kCollectiveDelay:
      return with.collective_delay().calls();
    case v1::Parameters::kCollectiveHang:
      return with.collective_hang().calls();
    default:
      return with.collective_desync().calls();
  }
}

std::string OperationName(const v1::NcclCalls& calls) {
  static constexpr const char* kNames[] = {"nccl",      "all_reduce", "reduce_scatter", "all_gather",
                                           "broadcast", "reduce",     "send",           "recv"};
  const auto at = static_cast<size_t>(calls.operation());
  return at < std::size(kNames) ? kNames[at] : kNames[0];
}

Result<RuleOrder> OrderFrom(const v1::Parameters& with, uint64_t seed) {
  RuleOrder order{};
  PutCalls(CallsOf(with), &order);
  order.moment = kBefore;
  order.corruption.seed = seed;
  if (with.has_collective_corrupt()) {
    const v1::CollectiveCorrupt& corrupt = with.collective_corrupt();
    order.action = kCorrupt;
    order.moment = MomentOf(corrupt.moment());
    order.corruption = CorruptionFrom(corrupt, seed);
    order.low_value = corrupt.low();
    order.high_value = corrupt.high();
    if (corrupt.damage() == v1::CORRUPTION_STALE) {
      // The first call that matches is the one that is remembered.
      order.stale = 1;
      order.first = std::max<uint64_t>(order.first, 1);
    }
    TRIODRILL_RETURN_IF_ERROR(CheckFits(order.corruption));
  } else if (with.has_collective_delay()) {
    order.action = kDelay;
    order.moment = MomentOf(with.collective_delay().moment());
    order.hold_ns = ToNanos(with.collective_delay().delay()).count();
  } else if (with.has_collective_hang()) {
    order.action = kHang;
    order.moment = MomentOf(with.collective_hang().moment());
  } else if (with.has_collective_desync()) {
    order.action = kDesync;
  } else {
    return absl::InvalidArgumentError("a fault on collectives without its parameters");
  }
  return order;
}

}  // namespace triodrill::collective
