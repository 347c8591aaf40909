#include "injectors/agent/rank_scan.h"

#include <re2/re2.h>

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

}  // namespace

int NumberFromEnvironment(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(std::min(end + 1, environment.size()));
    if (!entry.starts_with(name) || entry.size() <= name.size() || entry[name.size()] != '=') continue;
    int number = -1;
    if (!absl::SimpleAtoi(View(entry.substr(name.size() + 1)), &number) || number < 0) return -1;
    return number;
  }
  return -1;
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

bool RankScan::Worker(int pid, v1::RankFound& found) const {
  const Result<std::string> cmdline = ReadFile(Cat("/proc/", pid, "/cmdline"));
  if (!cmdline.ok()) return false;
  const std::string joined = JoinArguments(*cmdline);
  if (joined.empty() || !re2::RE2::PartialMatch(joined, *command_line_)) return false;
  const Result<std::string> environment = ReadFile(Cat("/proc/", pid, "/environ"));
  if (!environment.ok()) return false;
  const int rank = NumberFromEnvironment(*environment, rank_env_);
  const int local_rank = NumberFromEnvironment(*environment, local_rank_env_);
  if (rank < 0 || local_rank < 0) return false;
  found.set_rank(rank);
  found.set_local_rank(local_rank);
  found.set_command_line(joined);
  return true;
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
      const bool young = now < known->second.first + kYoungFor;
      if (known->second.worker ? !thorough : (!young && !thorough)) continue;
    }
    const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid);
    if (!identity.ok()) continue;
    const bool same = known != seen_.end() && known->second.start_time_ticks == identity->start_time_ticks();
    if (same && (known->second.worker || now >= known->second.first + kYoungFor)) continue;
    Seen seen{identity->start_time_ticks(), same ? known->second.first : now, false};
    v1::RankFound one;
    if (Worker(pid, one)) {
      // What was read is of the process named only if it is still there.
      const Result<v1::ProcessIdentity> again = IdentifyProcess(pid);
      if (!again.ok() || again->start_time_ticks() != identity->start_time_ticks()) continue;
      *one.mutable_process() = *identity;
      found.push_back(std::move(one));
      seen.worker = true;
    }
    seen_[pid] = seen;
  }
  std::erase_if(seen_, [&present](const auto& one) { return !present.contains(one.first); });
  return found;
}

void RankScan::Forget(int pid) { seen_.erase(pid); }

}  // namespace triodrill::agent
