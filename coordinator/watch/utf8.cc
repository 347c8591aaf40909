#include "coordinator/watch/utf8.h"

#include <algorithm>

#include "triodrill/schema/utf8.h"

namespace triodrill::watch {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Length of the character at the front of `text`; 0 if there is none, or a NUL.
size_t CharacterAt(std::string_view text) { return text[0] == '\0' ? 0 : Utf8SequenceLength(text); }

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
