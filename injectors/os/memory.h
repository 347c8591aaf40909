// How much memory a process holds, and how much one may still take on this node and in a cgroup before a reserve is
// touched. The arithmetic is pure; the rest reads /proc and /sys and writes nothing. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill {

// What of a process is in memory now, in bytes.
Result<int64_t> ResidentBytes(pid_t pid);

// One bound on memory: of the node, of a cgroup or of one above it.
struct MemoryBound {
  int64_t total = 0;      // bytes there are, or are allowed
  int64_t available = 0;  // … of which may still be taken, what can be reclaimed at once counted as free
};

// /proc/meminfo: MemTotal and MemAvailable.
Result<MemoryBound> ParseNodeMemory(std::string_view meminfo);
// A cgroup's limit ("max" or a number) against its working set: usage without the page cache that nobody touches
// (`total_inactive_file` of memory.stat in v1, `inactive_file` in v2). A limit of no less than the node has is none:
// `total` 0.
Result<MemoryBound> ParseCgroupMemory(std::string_view limit, std::string_view usage, std::string_view stat,
                                      int64_t node_total);

// Bytes that may be taken until of one of the bounds only the reserve (a share of its total, 0 … 1) is left; negative:
// it is touched already.
int64_t RoomWithin(const std::vector<MemoryBound>& bounds, double reserve);

// The node, and where `cgroup` is not "" that directory of the memory hierarchy and those above it.
Result<std::vector<MemoryBound>> ReadMemoryBounds(const std::string& cgroup);

}  // namespace triodrill
