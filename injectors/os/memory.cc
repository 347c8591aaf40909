#include "injectors/os/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "injectors/os/cgroup.h"
#include "injectors/os/file.h"

namespace triodrill {
namespace {

absl::string_view Stripped(std::string_view text) {
  return absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
}

// "MemTotal:       24576000 kB", in bytes.
Result<int64_t> Kilobytes(std::string_view meminfo, std::string_view name) {
  for (const absl::string_view line : absl::StrSplit(absl::string_view(meminfo.data(), meminfo.size()), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() == 3 && words[0] == absl::string_view(name.data(), name.size()) && words[2] == "kB" &&
        absl::SimpleAtoi(words[1], &number) && number >= 0) {
      return number * 1024;
    }
  }
  return absl::InternalError(Cat("parse /proc/meminfo: it has no ", name));
}

// Of one directory of a memory hierarchy; NotFound if it has no limit's file: the top of v2.
Result<MemoryBound> ReadCgroupMemory(const std::string& directory, int64_t node_total) {
  const bool v2 = ReadFile(Cat(directory, "/memory.max")).ok();
  const std::string limit = Cat(directory, v2 ? "/memory.max" : "/memory.limit_in_bytes");
  if (!v2 && ::access(limit.c_str(), F_OK) != 0) return absl::NotFoundError(Cat(directory, " has no limit"));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string most, ReadFile(limit));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string usage,
                             ReadFile(Cat(directory, v2 ? "/memory.current" : "/memory.usage_in_bytes")));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string stat, ReadFile(Cat(directory, "/memory.stat")));
  return ParseCgroupMemory(most, usage, stat, node_total);
}

}  // namespace

Result<int64_t> ResidentBytes(pid_t pid) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFile(Cat("/proc/", pid, "/statm")));
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  int64_t pages = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &pages)) {
    return absl::InternalError(Cat("parse /proc/", pid, "/statm: '", text, "'"));
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

Result<MemoryBound> ParseNodeMemory(std::string_view meminfo) {
  MemoryBound node;
  TRIODRILL_ASSIGN_OR_RETURN(node.total, Kilobytes(meminfo, "MemTotal:"));
  TRIODRILL_ASSIGN_OR_RETURN(node.available, Kilobytes(meminfo, "MemAvailable:"));
  return node;
}

Result<MemoryBound> ParseCgroupMemory(std::string_view limit, std::string_view usage, std::string_view stat,
                                      int64_t node_total) {
  MemoryBound bound;
  const absl::string_view most = Stripped(limit);
  int64_t used = 0;
  if (most != "max" && !absl::SimpleAtoi(most, &bound.total)) {
    return absl::InternalError(Cat("parse a memory limit: '", std::string(most), "'"));
  }
  if (!absl::SimpleAtoi(Stripped(usage), &used)) {
    return absl::InternalError(Cat("parse a memory usage: '", std::string(Stripped(usage)), "'"));
  }
  if (most == "max" || bound.total >= node_total) return MemoryBound{};
  Result<int64_t> idle = ParseCounter(stat, "total_inactive_file");
  if (!idle.ok()) idle = ParseCounter(stat, "inactive_file");
  bound.available = bound.total - std::max<int64_t>(used - idle.value_or(0), 0);
  return bound;
}

int64_t RoomWithin(const std::vector<MemoryBound>& bounds, double reserve) {
  int64_t room = INT64_MAX;
  for (const MemoryBound& bound : bounds) {
    if (bound.total == 0) continue;
    room = std::min<int64_t>(room, bound.available - std::llround(reserve * static_cast<double>(bound.total)));
  }
  return room;
}

Result<std::vector<MemoryBound>> ReadMemoryBounds(const std::string& cgroup) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string meminfo, ReadFile("/proc/meminfo"));
  TRIODRILL_ASSIGN_OR_RETURN(const MemoryBound node, ParseNodeMemory(meminfo));
  std::vector<MemoryBound> bounds = {node};
  for (std::string directory = cgroup; !directory.empty(); directory = directory.substr(0, directory.rfind('/'))) {
    const Result<MemoryBound> bound = ReadCgroupMemory(directory, node.total);
    if (absl::IsNotFound(bound.status())) continue;  // v2: not enabled so far down, or the top
    TRIODRILL_RETURN_IF_ERROR(bound.status());
    bounds.push_back(*bound);
  }
  return bounds;
}

}  // namespace triodrill
