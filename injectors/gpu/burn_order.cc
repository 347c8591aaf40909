#include "injectors/gpu/burn_order.h"

#include <algorithm>
#include <cmath>

#include "triodrill/text.h"

namespace triodrill {
namespace {

// Shares travel in millionths, so that no locale and no rounding of a decimal point is in them.
constexpr double kMillionths = 1e6;

bool TakeShare(const HelperOptions& options, std::string_view name, double* share) {
  int64_t millionths = 0;
  if (!options.Take(name, &millionths) || millionths <= 0 || millionths > static_cast<int64_t>(kMillionths)) {
    return false;
  }
  *share = static_cast<double>(millionths) / kMillionths;
  return true;
}

}  // namespace

std::vector<std::string> BurnArguments(const BurnOrder& order) {
  return {Cat("--library=", order.library),
          Cat("--uuid=", order.uuid),
          Cat("--multiprocessors-millionths=", std::llround(order.multiprocessors * kMillionths)),
          Cat("--duty-millionths=", std::llround(order.duty * kMillionths)),
          Cat("--period-ns=", order.period.count()),
          Cat("--bound=", order.memory ? "memory" : "compute")};
}

Result<BurnOrder> ParseBurnArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--library", "--uuid", "--multiprocessors-millionths",
                                                           "--duty-millionths", "--period-ns", "--bound"}));
  BurnOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  std::string bound;
  if (options.Take("--library", &order.library) && options.Take("--uuid", &order.uuid) &&
      TakeShare(options, "--multiprocessors-millionths", &order.multiprocessors) &&
      TakeShare(options, "--duty-millionths", &order.duty) && options.Take("--period-ns", &order.period) &&
      options.Take("--bound", &bound) && (bound == "memory" || bound == "compute")) {
    order.memory = bound == "memory";
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

int BlocksOf(const BurnOrder& order, int multiprocessors) {
  const auto wanted = static_cast<int>(std::ceil(order.multiprocessors * multiprocessors - 1e-9));
  return std::clamp(wanted, 1, std::max(multiprocessors, 1));
}

kernels::BurnBounds BoundsOf(const BurnOrder& order) {
  const auto period = static_cast<kernels::Word64>(order.period.count());
  const auto busy = static_cast<kernels::Word64>(std::llround(order.duty * static_cast<double>(period)));
  return {.busy_ns = std::max<kernels::Word64>(busy, 1), .life_ns = period, .max_rounds = 0};
}

}  // namespace triodrill
