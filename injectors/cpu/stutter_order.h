// What triodrill-stutter is told, as its argument vector. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct StutterOrder {
  std::string token;  // by which an undo finds the program: see TokenArgument
  v1::ProcessIdentity target;
  v1::ProcessIdentity parent;  // who asked for it; the program ends with that process
  Nanos run{0};
  Nanos stop{0};
  Nanos until{0};  // CLOCK_BOOTTIME
};

inline constexpr std::string_view kStutterProgram = "triodrill-stutter";
// The name (/proc/PID/comm) under which the program says how many whole cycles it has seen: "stutter:12".
inline constexpr std::string_view kStutterCycles = "stutter:";
// Where the program writes "S" once it has seen the target stopped, or "E" and a message.
inline constexpr int kStutterStatusFd = 3;

std::string TokenArgument(std::string_view token);
std::vector<std::string> StutterArguments(const std::string& program, const StutterOrder& order);
Result<StutterOrder> ParseStutterArguments(const std::vector<std::string>& arguments);

}  // namespace triodrill
