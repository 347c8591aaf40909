#include "injectors/os/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "injectors/os/file.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using Words = std::vector<std::string>;

Words SplitWords(std::string_view text) {
  return absl::StrSplit(View(text), absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

bool HasWord(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

Result<std::string> ReadLineOf(const std::string& directory, std::string_view name) {
  TRIODRILL_ASSIGN_OR_RETURN(std::string text, ReadFile(Cat(directory, "/", name)));
  return std::string(absl::StripSuffix(text, "\n"));
}

}  // namespace

std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const absl::string_view line : absl::StrSplit(View(mountinfo), '\n')) {
    const Words words = absl::StrSplit(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 10 || words.end() - dash < 4) continue;
    const std::string& type = *(dash + 1);
    if (type != "cgroup" && type != "cgroup2") continue;
    const Words options = absl::StrSplit(*(dash + 3), ',');
    mounts.push_back({.version = type == "cgroup2" ? 2 : 1,
                      .root = Unescape(words[3]),
                      .mount_point = Unescape(words[4]),
                      .controllers = type == "cgroup" ? options : Words()});
  }
  return mounts;
}

std::optional<CgroupPath> ParseCgroupPath(std::string_view proc_cgroup, std::string_view controller) {
  std::optional<CgroupPath> unified;
  for (const absl::string_view line : absl::StrSplit(View(proc_cgroup), '\n')) {
    const Words fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (HasWord(absl::StrSplit(fields[1], ','), controller)) return CgroupPath{1, fields[2], std::string(controller)};
    if (fields[0] == "0" && fields[1].empty()) unified = CgroupPath{2, fields[2], std::string(controller)};
  }
  return unified;
}

Result<std::string> DirectoryOf(const CgroupPath& path, const std::vector<CgroupMount>& mounts) {
  for (const CgroupMount& mount : mounts) {
    if (mount.version != path.version || (path.version == 1 && !HasWord(mount.controllers, path.controller))) continue;
    if (path.path.starts_with("/..")) continue;  // outside our cgroup namespace
    if (mount.root == "/") return path.path == "/" ? mount.mount_point : Cat(mount.mount_point, path.path);
    if (path.path == mount.root) return mount.mount_point;
    if (path.path.starts_with(mount.root + "/")) return Cat(mount.mount_point, path.path.substr(mount.root.size()));
  }
  return absl::NotFoundError(Cat("find cgroup v", path.version, " ", path.path, ": no mount of the ", path.controller,
                                 " controller shows it here; mount it, or run on the host"));
}

Result<OwnCgroup> FindCgroup(pid_t pid, std::string_view controller) {
  const std::string what = Cat("find the ", controller, " cgroup of pid ", pid);
  TRIODRILL_ASSIGN_OR_RETURN(const std::string mountinfo, ReadFile("/proc/self/mountinfo"));
  const std::string task = Cat("/proc/", pid, "/task");
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFile(Cat("/proc/", pid, "/cgroup")));
  const std::optional<CgroupPath> path = ParseCgroupPath(text, controller);
  if (!path.has_value()) {
    return absl::UnimplementedError(Cat(what, ": this kernel has no such controller"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> threads, ListDirectory(task));
  for (const std::string& thread : threads) {
    const Result<std::string> of_thread = ReadFile(Cat(task, "/", thread, "/cgroup"));
    if (!of_thread.ok()) continue;  // that thread has ended
    const std::optional<CgroupPath> other = ParseCgroupPath(*of_thread, controller);
    if (other.has_value() && other->path == path->path) continue;
    return absl::FailedPreconditionError(
        Cat(what, ": its thread ", thread, " is in another cgroup; threads spread like this could not be given back"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(*path, ParseCgroupMounts(mountinfo)));
  return OwnCgroup{path->version, directory, path->path == "/"};
}

Result<CgroupPlace> PlaceFor(const OwnCgroup& own, std::string_view controller) {
  const auto writable = [](const std::string& file) -> Status {
    if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0) return Ok();
    return ErrnoStatus("make a cgroup for the drill: write to", file);
  };
  if (own.version == 1) {
    const std::string limit = Cat(own.directory, controller == "cpu" ? "/cpu.cfs_quota_us" : "/memory.limit_in_bytes");
    if (!own.top && ::access(limit.c_str(), F_OK) != 0) {
      return absl::UnimplementedError(Cat("look at ", limit, ": this kernel has no such limit"));
    }
    TRIODRILL_RETURN_IF_ERROR(writable(own.directory));
    return CgroupPlace{own.directory, false};
  }
  const std::string parent = own.top ? own.directory : std::filesystem::path(own.directory).parent_path().string();
  TRIODRILL_ASSIGN_OR_RETURN(const std::string controllers, ReadLineOf(parent, "cgroup.controllers"));
  if (!HasWord(SplitWords(controllers), controller)) {
    return absl::FailedPreconditionError(Cat("make a cgroup for the drill in ", parent, ": the ", controller,
                                             " controller is not given to it ('", controllers,
                                             "'); enable it in its parent's cgroup.subtree_control"));
  }
  if (!own.top) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::string type, ReadLineOf(own.directory, "cgroup.type"));
    if (type != "domain") {
      return absl::FailedPreconditionError(
          Cat("use cgroup ", own.directory, ": it is '", type, "', not a plain domain"));
    }
  }
  TRIODRILL_RETURN_IF_ERROR(writable(parent));
  TRIODRILL_RETURN_IF_ERROR(writable(Cat(parent, "/cgroup.procs")));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string given, ReadLineOf(parent, "cgroup.subtree_control"));
  const bool enable = !HasWord(SplitWords(given), controller);
  if (enable) TRIODRILL_RETURN_IF_ERROR(writable(Cat(parent, "/cgroup.subtree_control")));
  return CgroupPlace{parent, enable};
}

Result<CpuLimit> ParseCpuMax(std::string_view text) {
  const Words words = SplitWords(text);
  CpuLimit limit;
  int64_t quota = 0;
  if (words.size() == 2 && absl::SimpleAtoi(words[1], &limit.period_us)) {
    if (words[0] == "max") return limit;
    if (absl::SimpleAtoi(words[0], &quota)) {
      limit.quota_us = quota;
      return limit;
    }
  }
  return absl::InternalError(Cat("parse cpu.max '", text, "': unexpected form"));
}

Result<CpuLimit> ReadCpuLimit(int directory, int version) {
  if (version == 2) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory, "cpu.max"));
    return ParseCpuMax(text);
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::string quota_text, ReadFileAt(directory, "cpu.cfs_quota_us"));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string period_text, ReadFileAt(directory, "cpu.cfs_period_us"));
  CpuLimit limit;
  int64_t quota = 0;
  if (!absl::SimpleAtoi(quota_text, &quota) || !absl::SimpleAtoi(period_text, &limit.period_us)) {
    return absl::InternalError(Cat("parse cpu.cfs_quota_us '", quota_text, "': unexpected form"));
  }
  if (quota >= 0) limit.quota_us = quota;
  return limit;
}

Result<int64_t> ParseCounter(std::string_view text, std::string_view name) {
  const std::string beginning = Cat(name, " ");
  for (const absl::string_view line : absl::StrSplit(View(text), '\n')) {
    int64_t count = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, beginning) && absl::SimpleAtoi(rest, &count)) return count;
  }
  return absl::NotFoundError(Cat("read a counter: no '", name, "' in '", text, "'"));
}

Result<int64_t> ReadThrottledCount(int directory) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory, "cpu.stat"));
  return ParseCounter(text, "nr_throttled");
}

Result<std::vector<pid_t>> ReadCgroupProcesses(int directory) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory, "cgroup.procs"));
  std::vector<pid_t> pids;
  for (const std::string& word : SplitWords(text)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(word, &pid)) return absl::InternalError(Cat("parse cgroup.procs: '", word, "'"));
    pids.push_back(pid);
  }
  return pids;
}

}  // namespace triodrill
