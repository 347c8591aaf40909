#include "injectors/gpu/wave_order.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "triodrill/text.h"

namespace triodrill {
namespace {

bool TakeClock(const HelperOptions& options, std::string_view name, uint32_t* mhz) {
  int64_t number = 0;
  if (!options.Take(name, &number) || number <= 0 || number > std::numeric_limits<int32_t>::max()) return false;
  *mhz = static_cast<uint32_t>(number);
  return true;
}

}  // namespace

std::vector<std::string> WaveArguments(const WaveOrder& order) {
  return {Cat("--library=", order.library), Cat("--uuid=", order.uuid), Cat("--lowest-mhz=", order.lowest_mhz),
          Cat("--highest-mhz=", order.highest_mhz), Cat("--wave-ns=", order.wave.count())};
}

Result<WaveOrder> ParseWaveArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(
      const HelperOptions options,
      HelperOptions::Of(arguments, {"--library", "--uuid", "--lowest-mhz", "--highest-mhz", "--wave-ns"}));
  WaveOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  if (options.Take("--library", &order.library) && options.Take("--uuid", &order.uuid) &&
      TakeClock(options, "--lowest-mhz", &order.lowest_mhz) &&
      TakeClock(options, "--highest-mhz", &order.highest_mhz) && options.Take("--wave-ns", &order.wave) &&
      order.lowest_mhz < order.highest_mhz) {
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

uint32_t ClockAt(const WaveOrder& order, Nanos at) {
  const double turn = 2 * std::numbers::pi * static_cast<double>(at.count() % order.wave.count()) /
                      static_cast<double>(order.wave.count());
  const double depth = (1 + std::sin(turn)) / 2;
  return order.highest_mhz - static_cast<uint32_t>(std::lround(depth * (order.highest_mhz - order.lowest_mhz)));
}

}  // namespace triodrill
