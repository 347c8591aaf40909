#include "injectors/link/flap_order.h"

#include <algorithm>
#include <cmath>

#include "triodrill/text.h"

namespace triodrill {
namespace {

// A well-mixed number for each input (SplitMix64's finaliser).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Evenly between (1 - jitter) and (1 + jitter) of it, and never nothing.
Nanos Jittered(Nanos time, int64_t jitter_ppm, uint64_t draw) {
  const double share = static_cast<double>(Mix(draw) >> 11) * 0x1p-53;
  const double factor = 1 + static_cast<double>(jitter_ppm) / 1e6 * (2 * share - 1);
  return std::max(Nanos(1), Nanos(std::llround(static_cast<double>(time.count()) * factor)));
}

}  // namespace

FlapTimes TimesOfCycle(const FlapOrder& order, int64_t cycle) {
  if (order.jitter_ppm == 0) return {order.down, order.up};
  const uint64_t draw = Mix(static_cast<uint64_t>(order.seed)) + 2 * static_cast<uint64_t>(cycle);
  return {Jittered(order.down, order.jitter_ppm, draw), Jittered(order.up, order.jitter_ppm, draw + 1)};
}

std::vector<std::string> FlapArguments(const FlapOrder& order) {
  return {Cat("--name=", order.link.name()),
          Cat("--ifindex=", order.link.ifindex()),
          Cat("--mac=", order.link.mac()),
          Cat("--net-namespace=", order.link.net_namespace_inode()),
          Cat("--down-ns=", order.down.count()),
          Cat("--up-ns=", order.up.count()),
          Cat("--count=", order.count),
          Cat("--jitter-ppm=", order.jitter_ppm),
          Cat("--seed=", order.seed)};
}

Result<FlapOrder> ParseFlapArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(
      const HelperOptions options,
      HelperOptions::Of(arguments, {"--name", "--ifindex", "--mac", "--net-namespace", "--down-ns", "--up-ns",
                                    "--count", "--jitter-ppm", "--seed"}));
  FlapOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  int64_t ifindex = 0;
  int64_t inode = 0;
  std::string name;
  std::string mac;
  // An interface without a link-layer address has none to tell.
  if (options.Take("--name", &name) && options.Take("--ifindex", &ifindex) && options.Take("--net-namespace", &inode) &&
      options.Take("--down-ns", &order.down) && options.Take("--up-ns", &order.up) &&
      options.Take("--count", &order.count) && order.count >= 0 && options.Take("--jitter-ppm", &order.jitter_ppm) &&
      order.jitter_ppm >= 0 && order.jitter_ppm < 1'000'000 && options.Take("--seed", &order.seed)) {
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
