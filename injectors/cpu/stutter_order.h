// What triodrill-stutter is told, as its argument vector. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct StutterOrder {
  HelperOrder common;
  v1::ProcessIdentity target;
  Nanos run{0};
  Nanos stop{0};
  Nanos wave{0};  // 0: each cycle is as said; else `stop` is the longest one, and rises and falls with this period
};

inline constexpr std::string_view kStutterProgram = "triodrill-stutter";
// The name (/proc/PID/comm) under which the program says how many whole cycles it has seen: "stutter:12".
inline constexpr std::string_view kStutterCycles = "stutter:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> StutterArguments(const StutterOrder& order);
Result<StutterOrder> ParseStutterArguments(const std::vector<std::string>& arguments);

// How long to stop and then to run in the cycle that begins `at` after the first one: together always as long as
// `run` + `stop`. A wave begins half-way up, so that it shows from the first cycle on.
struct Cycle {
  Nanos stop{0};
  Nanos run{0};
};
Cycle CycleAt(const StutterOrder& order, Nanos at);

}  // namespace triodrill
