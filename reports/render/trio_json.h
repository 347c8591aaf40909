// trio.json: stable, snake_case, documented field by field in reports/README.md. Times are seconds as decimals,
// instants nanoseconds on the coordinator's clock. The bytes are a function of the value alone.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "reports/measure/trio.h"

namespace triodrill {

std::string TrioJson(const Trio& trio);  // with a newline at its end
nlohmann::ordered_json TrioTree(const Trio& trio);

}  // namespace triodrill
