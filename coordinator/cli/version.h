#pragma once

#include <string_view>

namespace triodrill::cli {

inline constexpr std::string_view kVersion = TRIODRILL_VERSION;

}  // namespace triodrill::cli
