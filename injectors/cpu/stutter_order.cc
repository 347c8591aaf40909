#include "injectors/cpu/stutter_order.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

std::string IdentityText(const v1::ProcessIdentity& identity) {
  return Cat(identity.pid(), ":", identity.start_time_ticks(), ":", identity.pid_namespace_inode());
}

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

bool ParseNanos(const std::string& text, Nanos* nanos) {
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count <= 0) return false;
  *nanos = Nanos(count);
  return true;
}

}  // namespace

std::string TokenArgument(std::string_view token) { return Cat("--token=", token); }

std::vector<std::string> StutterArguments(const std::string& program, const StutterOrder& order) {
  return {program,
          TokenArgument(order.token),
          Cat("--target=", IdentityText(order.target)),
          Cat("--parent=", IdentityText(order.parent)),
          Cat("--run-ns=", order.run.count()),
          Cat("--stop-ns=", order.stop.count()),
          Cat("--until-boottime-ns=", order.until.count())};
}

Result<StutterOrder> ParseStutterArguments(const std::vector<std::string>& arguments) {
  StutterOrder order;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::pair<std::string, std::string> option = absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    const std::string& value = option.second;
    const bool good = (option.first == "--token" && !(order.token = value).empty()) ||
                      (option.first == "--target" && ParseIdentity(value, &order.target)) ||
                      (option.first == "--parent" && ParseIdentity(value, &order.parent)) ||
                      (option.first == "--run-ns" && ParseNanos(value, &order.run)) ||
                      (option.first == "--stop-ns" && ParseNanos(value, &order.stop)) ||
                      (option.first == "--until-boottime-ns" && ParseNanos(value, &order.until));
    if (!good) return absl::InvalidArgumentError(Cat("argument '", arguments[i], "': not understood"));
  }
  if (order.token.empty() || order.target.pid() == 0 || order.parent.pid() == 0 || order.run == Nanos(0) ||
      order.stop == Nanos(0) || order.until == Nanos(0)) {
    return absl::InvalidArgumentError("an argument is missing; the agent starts this program, nobody else needs to");
  }
  return order;
}

}  // namespace triodrill
