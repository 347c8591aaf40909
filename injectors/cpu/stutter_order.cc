#include "injectors/cpu/stutter_order.h"

#include <cmath>
#include <numbers>

#include "triodrill/text.h"

namespace triodrill {

std::vector<std::string> StutterArguments(const StutterOrder& order) {
  return {Cat("--target=", IdentityText(order.target)), Cat("--run-ns=", order.run.count()),
          Cat("--stop-ns=", order.stop.count()), Cat("--wave-ns=", order.wave.count())};
}

Result<StutterOrder> ParseStutterArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--target", "--run-ns", "--stop-ns", "--wave-ns"}));
  StutterOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  if (options.Take("--target", &order.target) && options.Take("--run-ns", &order.run) &&
      options.Take("--stop-ns", &order.stop) && options.Take("--wave-ns", &order.wave, true)) {
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

Cycle CycleAt(const StutterOrder& order, Nanos at) {
  if (order.wave <= Nanos(0)) return {order.stop, order.run};
  const double turn = 2 * std::numbers::pi * static_cast<double>(at.count() % order.wave.count()) /
                      static_cast<double>(order.wave.count());
  const auto stop = Nanos(static_cast<int64_t>(static_cast<double>(order.stop.count()) * (1 + std::sin(turn)) / 2));
  return {stop, order.run + order.stop - stop};
}

}  // namespace triodrill
