// What triodrill-crashloop is told, as its argument vector. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct CrashLoopOrder {
  HelperOrder common;
  v1::ProcessIdentity target;        // killed first
  std::string match;                 // RE2: the command lines of those that are killed after it …
  std::vector<std::string> protect;  // … but for these
  Nanos let_live{0};
};

inline constexpr std::string_view kCrashLoopProgram = "triodrill-crashloop";
// The process name under which it says how many it has killed: "crashloop:3".
inline constexpr std::string_view kCrashLoopCount = "crashloop:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> CrashLoopArguments(const CrashLoopOrder& order);
Result<CrashLoopOrder> ParseCrashLoopArguments(const std::vector<std::string>& arguments);

}  // namespace triodrill
