#include "injectors/cpu/leak_order.h"

#include <algorithm>
#include <cmath>

#include "triodrill/text.h"

namespace triodrill {
namespace {

// The reserve travels in millionths, so that no locale and no rounding of a decimal point is in it.
constexpr double kMillionths = 1e6;

int64_t FloorPieces(int64_t bytes) {
  return bytes >= 0 ? bytes / kLeakPiece : -((-bytes + kLeakPiece - 1) / kLeakPiece);
}

}  // namespace

std::vector<std::string> LeakArguments(const LeakOrder& order) {
  return {Cat("--cgroup=", order.cgroup), Cat("--rate=", order.bytes_per_second), Cat("--most=", order.most_bytes),
          Cat("--reserve-millionths=", std::llround(order.reserve * kMillionths))};
}

Result<LeakOrder> ParseLeakArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--cgroup", "--rate", "--most", "--reserve-millionths"}));
  LeakOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  int64_t reserve = 0;
  if (options.Take("--cgroup", &order.cgroup) && options.Take("--rate", &order.bytes_per_second) &&
      options.Take("--most", &order.most_bytes) && options.Take("--reserve-millionths", &reserve) && reserve > 0 &&
      reserve < static_cast<int64_t>(kMillionths) && order.bytes_per_second >= kLeakPiece &&
      order.most_bytes >= kLeakPiece) {
    order.reserve = static_cast<double>(reserve) / kMillionths;
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

int64_t PiecesAt(const LeakOrder& order, Nanos since_begun, int64_t held, int64_t room) {
  const double seconds = std::chrono::duration<double>(since_begun).count();
  const double grown = seconds * static_cast<double>(order.bytes_per_second);
  const double most = static_cast<double>(order.most_bytes);
  const auto wanted = static_cast<int64_t>(std::min(grown, most)) / kLeakPiece;
  return std::max<int64_t>(std::min(std::max(wanted, held), held + FloorPieces(room)), 0);
}

}  // namespace triodrill
