#include "injectors/link/flap_order.h"

#include "triodrill/text.h"

namespace triodrill {

std::vector<std::string> FlapArguments(const FlapOrder& order) {
  return {Cat("--name=", order.link.name()),     Cat("--ifindex=", order.link.ifindex()),
          Cat("--mac=", order.link.mac()),       Cat("--net-namespace=", order.link.net_namespace_inode()),
          Cat("--down-ns=", order.down.count()), Cat("--up-ns=", order.up.count()),
          Cat("--count=", order.count)};
}

Result<FlapOrder> ParseFlapArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--name", "--ifindex", "--mac", "--net-namespace",
                                                           "--down-ns", "--up-ns", "--count"}));
  FlapOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  int64_t ifindex = 0;
  int64_t inode = 0;
  std::string name;
  std::string mac;
  // An interface without a link-layer address has none to tell.
  if (options.Take("--name", &name) && options.Take("--ifindex", &ifindex) && options.Take("--net-namespace", &inode) &&
      options.Take("--down-ns", &order.down) && options.Take("--up-ns", &order.up) &&
      options.Take("--count", &order.count) && order.count >= 0) {
    options.Take("--mac", &mac);
    order.link.set_name(name);
    order.link.set_mac(mac);
    order.link.set_ifindex(static_cast<int32_t>(ifindex));
    order.link.set_net_namespace_inode(static_cast<uint64_t>(inode));
    return order;
  }
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

}  // namespace triodrill
