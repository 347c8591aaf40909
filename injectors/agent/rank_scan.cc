#include "injectors/agent/rank_scan.h"

#include <re2/re2.h>

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "injectors/os/file.h"
#include "injectors/process/process_identity.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

constexpr Nanos kYoungFor = std::chrono::seconds(5);
constexpr Nanos kThoroughEvery = std::chrono::seconds(1);

// Of the first entry of that name.
std::optional<std::string_view> ValueOf(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(std::min(end + 1, environment.size()));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace

int NumberFromEnvironment(std::string_view environment, std::string_view name) {
  int number = -1;
  const std::optional<std::string_view> value = ValueOf(environment, name);
  return value && absl::SimpleAtoi(View(*value), &number) && number >= 0 ? number : -1;
}

bool AwaitsNumber(std::string_view environment, std::string_view name) {
  return ValueOf(environment, name) && NumberFromEnvironment(environment, name) < 0;
}

RankScan::RankScan() = default;
RankScan::RankScan(RankScan&&) noexcept = default;
RankScan& RankScan::operator=(RankScan&&) noexcept = default;
RankScan::~RankScan() = default;

Result<RankScan> RankScan::Of(const v1::RankProcess& how) {
  RankScan scan;
  scan.command_line_ = std::make_unique<re2::RE2>(how.command_line(), re2::RE2::Quiet);
  if (how.command_line().empty() || !scan.command_line_->ok()) {
    return absl::InvalidArgumentError(
        Cat("watch for processes like '", how.command_line(), "': ", scan.command_line_->error()));
  }
  scan.rank_env_ = how.rank_env().empty() ? "RANK" : how.rank_env();
  scan.local_rank_env_ = how.local_rank_env().empty() ? "LOCAL_RANK" : how.local_rank_env();
  return scan;
}

void RankScan::Recognise(int pid, Seen& seen, v1::RankFound& found) const {
  const Result<std::string> cmdline = ReadFile(Cat("/proc/", pid, "/cmdline"));
  const std::string joined = cmdline.ok() ? JoinArguments(*cmdline) : "";
  if (joined.empty()) return;
  const bool matches = re2::RE2::PartialMatch(joined, *command_line_);
  const Result<std::string> environment = ReadFile(Cat("/proc/", pid, "/environ"));
  if (!environment.ok()) return;
  const int rank = NumberFromEnvironment(*environment, rank_env_);
  const int local_rank = NumberFromEnvironment(*environment, local_rank_env_);
  if (local_rank < 0) return;
  // It writes its rank into the environment first: one that has it there and not yet in its command line is looked at
  // again as well.
  seen.spare = AwaitsNumber(*environment, rank_env_) || (seen.spare && !matches);
  seen.worker = matches && rank >= 0;
  if (!seen.worker) return;
  found.set_rank(rank);
  found.set_local_rank(local_rank);
  found.set_command_line(joined);
}

std::vector<v1::RankFound> RankScan::Look(TimePoint now) {
  std::vector<v1::RankFound> found;
  const Result<std::vector<std::string>> names = ListDirectory("/proc");
  if (!names.ok()) return found;
  const bool thorough = now >= next_thorough_;
  if (thorough) next_thorough_ = now + kThoroughEvery;
  std::set<int> present;
  for (const std::string& name : *names) {
    int pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    present.insert(pid);
    const auto known = seen_.find(pid);
    if (known != seen_.end()) {
      const bool may_become = known->second.spare || now < known->second.first + kYoungFor;
      if (known->second.worker ? !thorough : (!may_become && !thorough)) continue;
    }
    const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid);
    if (!identity.ok()) continue;
    const bool same = known != seen_.end() && known->second.start_time_ticks == identity->start_time_ticks();
    const bool old = same && !known->second.spare && now >= known->second.first + kYoungFor;
    if (old || (same && known->second.worker)) continue;
    Seen seen{identity->start_time_ticks(), same ? known->second.first : now, false, same && known->second.spare};
    v1::RankFound one;
    Recognise(pid, seen, one);
    if (seen.worker) {
      // What was read is of the process named only if it is still there.
      const Result<v1::ProcessIdentity> again = IdentifyProcess(pid);
      if (!again.ok() || again->start_time_ticks() != identity->start_time_ticks()) continue;
      *one.mutable_process() = *identity;
      found.push_back(std::move(one));
    }
    seen_[pid] = seen;
  }
  std::erase_if(seen_, [&present](const auto& one) { return !present.contains(one.first); });
  return found;
}

void RankScan::Forget(int pid) { seen_.erase(pid); }

}  // namespace triodrill::agent
