#include "coordinator/watch/utf8.h"

#include <algorithm>

namespace triodrill::watch {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// What a lead byte asks for: the length of its sequence and the range of its second byte (which is what rules out
// overlong forms, surrogates and code points past U+10FFFF). Length 0: no lead byte.
struct Lead {
  size_t length;
  unsigned char second_from;
  unsigned char second_to;
};

Lead LeadOf(unsigned char c) {
  if (c >= 0xC2 && c <= 0xDF) return {2, 0x80, 0xBF};
  if (c == 0xE0) return {3, 0xA0, 0xBF};
  if (c == 0xED) return {3, 0x80, 0x9F};
  if (c >= 0xE1 && c <= 0xEF) return {3, 0x80, 0xBF};
  if (c == 0xF0) return {4, 0x90, 0xBF};
  if (c >= 0xF1 && c <= 0xF3) return {4, 0x80, 0xBF};
  if (c == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the valid character at the front of `text`; 0 if there is none.
size_t CharacterAt(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first != 0 && first < 0x80) return 1;
  const Lead lead = LeadOf(first);
  if (lead.length == 0 || text.size() < lead.length) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  if (second < lead.second_from || second > lead.second_to) return 0;
  for (size_t i = 2; i < lead.length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  return lead.length;
}

bool IsPlain(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c > 0; });
}

}  // namespace

std::string ToUtf8(std::string_view bytes, int64_t& replaced) {
  if (IsPlain(bytes)) return std::string(bytes);
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = CharacterAt(bytes);
    if (length == 0) {
      text += kReplacement;
      ++replaced;
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

std::string_view PrefixOfCharacters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  // A character has at most three bytes after its first.
  while (end > 0 && limit - end < 3 && IsContinuation(text[end])) --end;
  return text.substr(0, IsContinuation(text[end]) ? limit : end);
}

}  // namespace triodrill::watch
