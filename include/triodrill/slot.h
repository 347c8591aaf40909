// A slot is where one rank (one GPU) lives: node and index on it, written "n2/0". Slots keep their names over restarts;
// global ranks may not.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace triodrill {

struct Slot {
  std::string node;
  int local_rank = 0;

  std::string Name() const { return absl::StrCat(node, "/", local_rank); }
  friend auto operator<=>(const Slot&, const Slot&) = default;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// nullopt unless `text` is NODE/INDEX.
inline std::optional<Slot> ParseSlot(std::string_view text) {
  const size_t slash = text.rfind('/');
  int index = 0;
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  if (!absl::SimpleAtoi(std::string(text.substr(slash + 1)), &index) || index < 0) return std::nullopt;
  return Slot{std::string(text.substr(0, slash)), index};
}

}  // namespace triodrill
