#include "coordinator/watch/bounded_json.h"

#include <algorithm>

#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

// Deepest nesting of brackets outside of strings; whether they match is the parser's business.
size_t DepthOf(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return deepest;
}

const nlohmann::json* Find(const nlohmann::json& object, const char* name, nlohmann::json::value_t kind) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found != object.end() && found->type() == kind ? &*found : nullptr;
}

}  // namespace

Result<nlohmann::json> ParseBounded(std::string_view text, size_t most_bytes) {
  if (text.size() > most_bytes) {
    return absl::InvalidArgumentError(Cat("read JSON: ", text.size(), " bytes, at most ", most_bytes, " are taken"));
  }
  if (const size_t depth = DepthOf(text); depth > kDeepestJson) {
    return absl::InvalidArgumentError(Cat("read JSON: nested ", depth, " deep, at most ", kDeepestJson, " is taken"));
  }
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return absl::InvalidArgumentError("read JSON: it is none, or only a part of one");
  return parsed;
}

const nlohmann::json* FindText(const nlohmann::json& object, const char* name) {
  return Find(object, name, nlohmann::json::value_t::string);
}
const nlohmann::json* FindList(const nlohmann::json& object, const char* name) {
  return Find(object, name, nlohmann::json::value_t::array);
}
const nlohmann::json* FindObject(const nlohmann::json& object, const char* name) {
  return Find(object, name, nlohmann::json::value_t::object);
}

}  // namespace triodrill::watch
