// Slurm's way of writing many hosts: "n[1-3,07],m4". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill::watch {

inline constexpr size_t kMostHosts = 100'000;

// In the order written. "" and "(null)" are nobody. Fails for brackets that do not close, ranges that run backwards or
// hold no numbers, and more than kMostHosts.
Result<std::vector<std::string>> ExpandHosts(std::string_view list);

}  // namespace triodrill::watch
