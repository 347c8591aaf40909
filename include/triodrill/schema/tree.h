// YAML text -> a plain tree with the place of every key and value. What YAML allows and a drill never needs (aliases,
// anchors, tags, several documents, keys that are not text) is refused here, and so is everything that makes a small
// text expensive. Used by the walker alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/yaml.h"

namespace triodrill {

struct YamlKey {
  std::string name;
  Place place;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  Place place;
  std::string scalar;
  bool quoted = false;          // a quoted or block scalar is always text
  std::vector<YamlKey> keys;    // of a mapping, one for each of `items`, duplicates included
  std::vector<YamlNode> items;  // of a sequence or a mapping

  // The value of the first such key; nullptr if there is none, or if this is no mapping.
  const YamlNode* Find(std::string_view key) const;
};

// False if there was anything to complain of. yaml-cpp's own complaints become diagnostics.
bool ParseTree(std::string_view text, std::string_view file, YamlNode& root, std::vector<Diagnostic>& problems);

}  // namespace triodrill
