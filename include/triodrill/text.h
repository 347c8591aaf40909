// Joining text. The distribution's abseil is built with a string_view of its own that takes no std::string_view, so
// absl::StrCat cannot be called with one; these can, and add nothing else.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace triodrill {

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

namespace internal {
template <typename T>
decltype(auto) Piece(const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return View(std::string_view(part));
  } else {
    return (part);
  }
}
}  // namespace internal

template <typename... Parts>
std::string Cat(const Parts&... parts) {
  return absl::StrCat(internal::Piece(parts)...);
}

template <typename... Parts>
void Append(std::string& text, const Parts&... parts) {
  absl::StrAppend(&text, internal::Piece(parts)...);
}

}  // namespace triodrill
