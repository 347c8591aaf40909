// What triodrill-dcgm is told, as its argument vector. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/gpu/dcgm.h"
#include "injectors/process/helper_order.h"
#include "triodrill/status.h"

namespace triodrill {

struct DcgmOrder {
  HelperOrder common;
  dcgm::Field field;
  Nanos every{0};
};

inline constexpr std::string_view kDcgmProgram = "triodrill-dcgm";
// The process name under which it says how often DCGM has answered the value: "dcgm:12".
inline constexpr std::string_view kDcgmCount = "dcgm:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> DcgmArguments(const DcgmOrder& order);
Result<DcgmOrder> ParseDcgmArguments(const std::vector<std::string>& arguments);

// How far ahead a value is dated, so that it is the newest until the next one comes, and not much longer.
int SecondsAhead(Nanos every);

}  // namespace triodrill
