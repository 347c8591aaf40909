// JSON from somebody whom nobody vouches for: its size and its depth are known before anything is built from it. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "nlohmann/json.hpp"
#include "triodrill/status.h"

namespace triodrill::watch {

inline constexpr size_t kDeepestJson = 32;
inline constexpr size_t kMostJsonBytes = size_t{32} << 20;

// Fails for text that is too large, nested too deeply, not UTF-8 or not one JSON value. Never throws.
Result<nlohmann::json> ParseBounded(std::string_view text, size_t most_bytes = kMostJsonBytes);

// The member if it is there and of that kind, else null. `object` may be anything.
const nlohmann::json* FindText(const nlohmann::json& object, const char* name);
const nlohmann::json* FindList(const nlohmann::json& object, const char* name);
const nlohmann::json* FindObject(const nlohmann::json& object, const char* name);

}  // namespace triodrill::watch
