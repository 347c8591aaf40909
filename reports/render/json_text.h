// A tree of values as JSON whose bytes depend on the values alone: members in the order in which they were put in,
// numbers with at most nine decimals and no exponent, small things on one line.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace triodrill {

std::string JsonText(const nlohmann::ordered_json& tree);  // with a newline at its end

}  // namespace triodrill
