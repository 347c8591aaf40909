// The mounts of this mount namespace, and how exactly one of ours is taken away. Any thread; a file system that nobody
// serves any more is never asked for anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill {

// One line of mountinfo.
struct MountLine {
  int id = 0;
  std::string point;
  std::string type;
  std::string source;
};
// Pure; lines that are not understood are left out.
std::vector<MountLine> ParseMounts(std::string_view mountinfo);
Result<std::vector<MountLine>> ReadMounts();

// Ours with that token, the oldest first.
std::vector<MountLine> OverlaysIn(const std::vector<MountLine>& mounts, std::string_view token);

// Whether that mount is what a path to its point leads to: false if another lies over it.
Result<bool> IsOnTop(const MountLine& mount);

// Takes ours with that token away, wherever they are, from names; what is open on them stays so. FailedPrecondition if
// another mount lies over one: that is somebody else's.
Status UnmountOverlays(std::string_view token);

}  // namespace triodrill
