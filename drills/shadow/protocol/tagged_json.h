// A variant of messages as one JSON object with its `type`, and back. Each alternative has its to_json and from_json
// and a NameOf(const T&), all three in the namespace of the message. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "triodrill/status.h"
#include "triodrill/text.h"

namespace triodrill::shadow {

template <typename Variant>
std::string EncodeTagged(const Variant& message) {
  return std::visit(
      [](const auto& value) {
        nlohmann::json json = value;
        json["type"] = std::string(NameOf(value));
        return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
      message);
}

// Tries the alternatives by their name; throws for one that is none of them.
template <typename Variant, size_t kIndex = 0>
Variant FromTaggedJson(const std::string& type, const nlohmann::json& json) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    throw std::invalid_argument("unknown type '" + type + "'");
  } else {
    using One = std::variant_alternative_t<kIndex, Variant>;
    if (type == NameOf(One{})) return json.get<One>();
    return FromTaggedJson<Variant, kIndex + 1>(type, json);
  }
}

// InvalidArgument says of `what` what is wrong: no JSON, an unknown type, a field missing or of the wrong type.
template <typename Variant>
Result<Variant> DecodeTagged(std::string_view text, std::string_view what) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    return FromTaggedJson<Variant>(json.at("type").get<std::string>(), json);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(Cat(what, ": ", error.what()));
  }
}

}  // namespace triodrill::shadow
