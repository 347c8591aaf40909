#include "injectors/process/helper_order.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr std::string_view kToken = "--token";
constexpr std::string_view kParent = "--parent";
constexpr std::string_view kUntil = "--until-boottime-ns";

}  // namespace

std::string TokenArgument(std::string_view token) { return Cat(kToken, "=", token); }

std::string IdentityText(const v1::ProcessIdentity& identity) {
  return Cat(identity.pid(), ":", identity.start_time_ticks(), ":", identity.pid_namespace_inode());
}

std::vector<std::string> HelperArguments(const std::string& program, const HelperOrder& order) {
  return {program, TokenArgument(order.token), Cat(kParent, "=", IdentityText(order.parent)),
          Cat(kUntil, "=", order.until.count())};
}

Result<HelperOptions> HelperOptions::Of(const std::vector<std::string>& arguments,
                                        const std::vector<std::string_view>& known) {
  HelperOptions options;
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::pair<std::string, std::string> option = absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    const bool common = option.first == kToken || option.first == kParent || option.first == kUntil;
    if (!common && std::find(known.begin(), known.end(), option.first) == known.end()) {
      return absl::InvalidArgumentError(Cat("argument '", arguments[i], "': not understood"));
    }
    options.options_.push_back(std::move(option));
  }
  return options;
}

std::vector<std::string> HelperOptions::All(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [option, value] : options_) {
    if (option == name) values.push_back(value);
  }
  return values;
}

bool HelperOptions::Take(std::string_view name, std::string* value) const {
  const std::vector<std::string> values = All(name);
  if (values.empty() || values.back().empty()) return false;
  *value = values.back();
  return true;
}

bool HelperOptions::Take(std::string_view name, int64_t* number) const {
  std::string text;
  return Take(name, &text) && absl::SimpleAtoi(text, number);
}

bool HelperOptions::Take(std::string_view name, Nanos* nanos, bool zero_allowed) const {
  int64_t count = 0;
  if (!Take(name, &count) || count < 0 || (count == 0 && !zero_allowed)) return false;
  *nanos = Nanos(count);
  return true;
}

namespace {

bool ParseIdentity(const std::string& text, v1::ProcessIdentity* identity) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  int32_t pid = 0;
  uint64_t start = 0;
  uint64_t inode = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &pid) || !absl::SimpleAtoi(parts[1], &start) ||
      !absl::SimpleAtoi(parts[2], &inode) || pid <= 1) {
    return false;
  }
  identity->set_pid(pid);
  identity->set_start_time_ticks(start);
  identity->set_pid_namespace_inode(inode);
  return true;
}

}  // namespace

bool HelperOptions::Take(std::string_view name, v1::ProcessIdentity* identity) const {
  std::string text;
  return Take(name, &text) && ParseIdentity(text, identity);
}

bool HelperOptions::TakeAll(std::string_view name, std::vector<v1::ProcessIdentity>* identities) const {
  for (const std::string& text : All(name)) {
    if (!ParseIdentity(text, &identities->emplace_back())) return false;
  }
  return true;
}

Status HelperOptions::TakeOrder(HelperOrder* order) const {
  if (Take(kToken, &order->token) && Take(kParent, &order->parent) && Take(kUntil, &order->until)) return Ok();
  return absl::InvalidArgumentError(
      "an argument is missing or malformed; the agent starts this program, nobody else needs to");
}

}  // namespace triodrill
