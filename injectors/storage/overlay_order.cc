#include "injectors/storage/overlay_order.h"

#include "triodrill/text.h"

namespace triodrill {

std::vector<std::string> OverlayArguments(const OverlayOrder& order) {
  return {Cat("--directory=", order.directory),
          Cat("--device=", static_cast<int64_t>(order.device)),
          Cat("--inode=", static_cast<int64_t>(order.inode)),
          Cat("--after-bytes=", order.rules.after_bytes),
          Cat("--quota=", order.rules.quota ? 1 : 0),
          Cat("--delay-ns=", order.rules.delay.count()),
          Cat("--bytes-per-second=", order.rules.bytes_per_second)};
}

Result<OverlayOrder> ParseOverlayArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--directory", "--device", "--inode", "--after-bytes",
                                                           "--quota", "--delay-ns", "--bytes-per-second"}));
  OverlayOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  int64_t device = 0;
  int64_t inode = 0;
  int64_t quota = 0;
  OverlayRules& rules = order.rules;
  if (options.Take("--directory", &order.directory) && options.Take("--device", &device) &&
      options.Take("--inode", &inode) && options.Take("--after-bytes", &rules.after_bytes) &&
      options.Take("--quota", &quota) && options.Take("--delay-ns", &rules.delay, true) &&
      options.Take("--bytes-per-second", &rules.bytes_per_second) && rules.bytes_per_second >= 0) {
    // The bits are what counts: an inode may have the highest set.
    order.device = static_cast<uint64_t>(device);
    order.inode = static_cast<uint64_t>(inode);
    rules.quota = quota != 0;
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

}  // namespace triodrill
