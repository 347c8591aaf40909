// What triodrill-flap is told, as its argument vector: by link.flap about one link, by node.flapping about a node's
// links and the job's processes on it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct FlapOrder {
  HelperOrder common;
  std::vector<v1::LinkIdentity> links;         // in the order in which they can be set up
  std::vector<v1::ProcessIdentity> processes;  // stopped while the links are down
  Nanos down{0};
  Nanos up{0};
  int64_t count = 0;       // 0: as long as it lasts
  int64_t jitter_ppm = 0;  // by how much each time may differ, in millionths of itself
  int64_t seed = 0;        // of the jitter
};

// Period, duty, count, jitter and seed, as the fault says. InvalidArgument if they are no rhythm.
Result<FlapOrder> FlapRhythm(const v1::AimedFault& fault);

struct FlapTimes {
  Nanos down{0};
  Nanos up{0};
};
// Of one cycle, from 0: the same for the same order.
FlapTimes TimesOfCycle(const FlapOrder& order, int64_t cycle);

inline constexpr std::string_view kFlapProgram = "triodrill-flap";
// The process name under which it says how many times it has seen all of it away: "flap:3".
inline constexpr std::string_view kFlapCount = "flap:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> FlapArguments(const FlapOrder& order);
Result<FlapOrder> ParseFlapArguments(const std::vector<std::string>& arguments);

}  // namespace triodrill
