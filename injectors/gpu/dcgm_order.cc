#include "injectors/gpu/dcgm_order.h"

#include <limits>

#include "triodrill/text.h"

namespace triodrill {
namespace {

// What dcgmi itself takes to connect, and its clock's whole seconds.
constexpr int kSlackSeconds = 2;

bool TakeNumber(const HelperOptions& options, std::string_view name, int64_t least, int64_t* number) {
  return options.Take(name, number) && *number >= least && *number <= std::numeric_limits<int32_t>::max();
}

}  // namespace

std::vector<std::string> DcgmArguments(const DcgmOrder& order) {
  return {Cat("--dcgmi=", order.field.dcgmi), Cat("--gpu=", order.field.gpu), Cat("--field=", order.field.id),
          Cat("--value=", order.field.value), Cat("--every-ns=", order.every.count())};
}

Result<DcgmOrder> ParseDcgmArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--dcgmi", "--gpu", "--field", "--value", "--every-ns"}));
  DcgmOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  int64_t gpu = 0;
  int64_t field = 0;
  if (options.Take("--dcgmi", &order.field.dcgmi) && TakeNumber(options, "--gpu", 0, &gpu) &&
      TakeNumber(options, "--field", 1, &field) && options.Take("--value", &order.field.value) &&
      options.Take("--every-ns", &order.every)) {
    order.field.gpu = static_cast<uint32_t>(gpu);
    order.field.id = static_cast<int32_t>(field);
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

int SecondsAhead(Nanos every) {
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(every).count()) + kSlackSeconds;
}

}  // namespace triodrill
