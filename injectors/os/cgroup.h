// Where a process stands in the hierarchy of a controller (cpu, memory), cgroup v2 or v1, and where a cgroup for a
// drill can be made. The parsers are pure; FindCgroup and PlaceFor read /proc and /sys; nothing here writes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill {

// One mount of /proc/PID/mountinfo.
struct CgroupMount {
  int version = 0;                       // 1 or 2
  std::string root;                      // which part of the hierarchy is mounted
  std::string mount_point;               // where
  std::vector<std::string> controllers;  // v1: mounted with it (and other words of its options)
};
std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo);

// The path of a process in the hierarchy that has the controller: v1 if a v1 line names it, else v2.
struct CgroupPath {
  int version = 0;
  std::string path;
  std::string controller;
};
std::optional<CgroupPath> ParseCgroupPath(std::string_view proc_cgroup, std::string_view controller);

// The directory of `path`: under the mount that shows it.
Result<std::string> DirectoryOf(const CgroupPath& path, const std::vector<CgroupMount>& mounts);

// The process's own cgroup in the controller's hierarchy, as a directory. Fails if the threads of the process are
// spread over several: they could not be given back.
struct OwnCgroup {
  int version = 0;
  std::string directory;
  bool top = false;  // of the hierarchy as seen here
};
Result<OwnCgroup> FindCgroup(pid_t pid, std::string_view controller);

// Where a cgroup for the drill goes. v1: under the process's own. v2: beside it, for a cgroup with processes in it can
// have no children with controllers (under it if it is the top).
struct CgroupPlace {
  std::string parent;
  bool enable = false;  // v2: the controller must be added to the parent's cgroup.subtree_control first
};
Result<CgroupPlace> PlaceFor(const OwnCgroup& own, std::string_view controller);

// Limits as read back; quota nullopt = none.
struct CpuLimit {
  std::optional<int64_t> quota_us;
  int64_t period_us = 0;
};
Result<CpuLimit> ReadCpuLimit(int directory, int version);
Result<CpuLimit> ParseCpuMax(std::string_view text);  // v2: "max 100000", "20000 100000"

// nr_throttled of cpu.stat.
Result<int64_t> ReadThrottledCount(int directory);

// The number after "NAME " at the beginning of a line: cpu.stat, memory.events and the like.
Result<int64_t> ParseCounter(std::string_view text, std::string_view name);

// cgroup.procs; a process outside our pid namespace reads as 0.
Result<std::vector<pid_t>> ReadCgroupProcesses(int directory);

}  // namespace triodrill
