#include "injectors/process/crash_loop_order.h"

#include "triodrill/text.h"

namespace triodrill {

std::vector<std::string> CrashLoopArguments(const CrashLoopOrder& order) {
  std::vector<std::string> arguments = {Cat("--target=", IdentityText(order.target)), Cat("--match=", order.match),
                                        Cat("--let-live-ns=", order.let_live.count())};
  for (const std::string& pattern : order.protect) arguments.push_back(Cat("--protect=", pattern));
  return arguments;
}

Result<CrashLoopOrder> ParseCrashLoopArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--target", "--match", "--let-live-ns", "--protect"}));
  CrashLoopOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  order.protect = options.All("--protect");
  if (options.Take("--target", &order.target) && options.Take("--match", &order.match) &&
      options.Take("--let-live-ns", &order.let_live, true)) {
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

}  // namespace triodrill
