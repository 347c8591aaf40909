#include "injectors/link/flap_order.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/stable_hash.h"
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

int64_t SeedOf(std::string_view shot) { return static_cast<int64_t>(StableHash(shot) >> 1); }

// v1::LinkFlap or v1::NodeFlapping.
template <typename Parameters>
Result<FlapOrder> Rhythm(const v1::AimedFault& fault, const Parameters& with) {
  const Nanos period = ToNanos(with.period());
  FlapOrder order;
  order.count = with.count();
  if (with.duty() > 0 && with.duty() < 1) {
    order.down = Nanos(static_cast<int64_t>(static_cast<double>(period.count()) * with.duty()));
  }
  order.up = period - order.down;
  order.seed = with.seed() != 0 ? with.seed() : SeedOf(fault.shot());
  if (with.jitter() < 0 || with.jitter() > 0.9) {
    return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": a jitter between 0 and 0.9 is needed"));
  }
  order.jitter_ppm = std::llround(with.jitter() * 1e6);
  if (order.down > Nanos(0) && order.up > Nanos(0) && order.count >= 0) return order;
  return absl::InvalidArgumentError(
      Cat("prepare ", fault.kind(), ": a period, and a duty between 0 and 1 are needed; a count is not negative"));
}

// "NAMESPACE/INDEX/MAC/NAME": no name has a '/'. An interface without a link-layer address has none to tell.
std::string LinkText(const v1::LinkIdentity& link) {
  return Cat(link.net_namespace_inode(), "/", link.ifindex(), "/", link.mac(), "/", link.name());
}

bool ParseLinkText(const std::string& text, v1::LinkIdentity* link) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  uint64_t inode = 0;
  int32_t ifindex = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &inode) || !absl::SimpleAtoi(parts[1], &ifindex) ||
      parts[3].empty()) {
    return false;
  }
  link->set_net_namespace_inode(inode);
  link->set_ifindex(ifindex);
  link->set_mac(parts[2]);
  link->set_name(parts[3]);
  return true;
}

}  // namespace

Result<FlapOrder> FlapRhythm(const v1::AimedFault& fault) {
  return fault.with().has_node_flapping() ? Rhythm(fault, fault.with().node_flapping())
                                          : Rhythm(fault, fault.with().link_flap());
}

FlapTimes TimesOfCycle(const FlapOrder& order, int64_t cycle) {
  if (order.jitter_ppm == 0) return {order.down, order.up};
  const uint64_t draw = Mix(static_cast<uint64_t>(order.seed)) + 2 * static_cast<uint64_t>(cycle);
  return {Jittered(order.down, order.jitter_ppm, draw), Jittered(order.up, order.jitter_ppm, draw + 1)};
}

std::vector<std::string> FlapArguments(const FlapOrder& order) {
  std::vector<std::string> arguments = {Cat("--down-ns=", order.down.count()), Cat("--up-ns=", order.up.count()),
                                        Cat("--count=", order.count), Cat("--jitter-ppm=", order.jitter_ppm),
                                        Cat("--seed=", order.seed)};
  for (const v1::LinkIdentity& link : order.links) arguments.push_back(Cat("--link=", LinkText(link)));
  for (const v1::ProcessIdentity& process : order.processes) {
    arguments.push_back(Cat("--process=", IdentityText(process)));
  }
  return arguments;
}

Result<FlapOrder> ParseFlapArguments(const std::vector<std::string>& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const HelperOptions options,
                             HelperOptions::Of(arguments, {"--link", "--process", "--down-ns", "--up-ns", "--count",
                                                           "--jitter-ppm", "--seed"}));
  FlapOrder order;
  TRIODRILL_RETURN_IF_ERROR(options.TakeOrder(&order.common));
  bool good = options.Take("--down-ns", &order.down) && options.Take("--up-ns", &order.up) &&
              options.Take("--count", &order.count) && order.count >= 0 &&
              options.Take("--jitter-ppm", &order.jitter_ppm) && order.jitter_ppm >= 0 &&
              order.jitter_ppm < 1'000'000 && options.Take("--seed", &order.seed) &&
              options.TakeAll("--process", &order.processes);
  for (const std::string& text : options.All("--link")) good = good && ParseLinkText(text, &order.links.emplace_back());
  if (good && !order.links.empty()) return order;
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

}  // namespace triodrill
