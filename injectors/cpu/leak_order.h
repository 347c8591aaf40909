// What triodrill-leak is told, as its argument vector. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"

namespace triodrill {

struct LeakOrder {
  HelperOrder common;
  std::string cgroup;            // of the memory hierarchy, joined before anything is taken; "" = none
  int64_t bytes_per_second = 0;  // growth
  int64_t most_bytes = 0;        // bound
  double reserve = 0;            // share of the node's memory and of the cgroup's limits that stays available, 0 … 1
};

// Memory is taken, and given back, in such pieces.
inline constexpr int64_t kLeakPiece = int64_t{1} << 20;

inline constexpr std::string_view kLeakProgram = "triodrill-leak";
// The process name under which it says how many pieces it holds: "leak:64".
inline constexpr std::string_view kLeakPieces = "leak:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> LeakArguments(const LeakOrder& order);
Result<LeakOrder> ParseLeakArguments(const std::vector<std::string>& arguments);

// How many pieces it should hold after so long, of which there is room for so many bytes more. Never more than the
// bound; fewer than it holds when the reserve is touched.
int64_t PiecesAt(const LeakOrder& order, Nanos since_begun, int64_t held, int64_t room);

}  // namespace triodrill
