// verdict.json, and the one object of `run --json`.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"

namespace triodrill {

std::string VerdictJson(const Verdict& verdict);  // with a newline at its end
nlohmann::ordered_json VerdictTree(const Verdict& verdict);

// {"schema", "drill", "exit_code", "bundle", "verdict": {...}, "trio": {...}}, with a newline at its end.
// `bundle` is "" where none is kept.
std::string RunJson(const Verdict& verdict, const Trio& trio, const std::string& bundle);

}  // namespace triodrill
