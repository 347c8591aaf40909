// What triodrill-overlay is told, as its argument vector. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// What becomes of operations on the directory; with nothing set all is passed on.
struct OverlayRules {
  int64_t after_bytes = -1;  // how much may still be written; -1: not bounded
  bool quota = false;        // what is refused then is refused with EDQUOT, not with ENOSPC
  Nanos delay{0};
  int64_t bytes_per_second = 0;  // 0: not bounded
};

struct OverlayOrder {
  HelperOrder common;     // its token is the source of the mount, too
  std::string directory;  // that the file system is put over, if it still is …
  uint64_t device = 0;    // … this one
  uint64_t inode = 0;
  OverlayRules rules;
};

inline constexpr std::string_view kOverlayProgram = "triodrill-overlay";
// The process name under which it says how many operations it has refused or held: "overlay:3".
inline constexpr std::string_view kOverlayCount = "overlay:";
// And under which it says that it only passes on, for good, and will mount nothing any more.
inline constexpr std::string_view kOverlayReleased = "overlay:out";
// The type of the file system in mountinfo.
inline constexpr std::string_view kOverlayType = "fuse.triodrill";

// Without the program's name and what is common to all helpers.
std::vector<std::string> OverlayArguments(const OverlayOrder& order);
Result<OverlayOrder> ParseOverlayArguments(const std::vector<std::string>& arguments);

}  // namespace triodrill
