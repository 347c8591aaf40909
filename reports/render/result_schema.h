// JSON Schema (2020-12) of what machines read: `run --json` and `report --format json` ("Run"), trio.json ("Trio") and
// verdict.json ("Verdict"). reports/README.md says what each member means.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace triodrill {

inline constexpr std::array<const char*, 3> kResultKinds = {"Run", "Trio", "Verdict"};

// "" if there is no such kind.
std::string ResultSchema(std::string_view kind);

}  // namespace triodrill
