// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace triodrill {

// Bytes of the well-formed sequence that `text` (not empty) begins with; 0 if it begins with none.
constexpr size_t Utf8SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i, unsigned char least, unsigned char most) {
    return i < text.size() && byte(i) >= least && byte(i) <= most;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char least = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned char most = lead == 0xED ? 0x9F : 0xBF;
    return continues(1, least, most) && continues(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned char least = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(1, least, most) && continues(2, 0x80, 0xBF) && continues(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace triodrill
