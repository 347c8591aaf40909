#include "reports/render/escape.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "triodrill/schema/utf8.h"

namespace triodrill {
namespace {

uint32_t CodePoint(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(sequence[i])); };
  switch (sequence.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

// Moves the cursor, changes colours, turns the direction of text, breaks lines, shows nothing at all, or is no
// character (of which XML allows none).
bool Invisible(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0xAD || (point >= 0x200B && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
         (point >= 0xFFF9 && point <= 0xFFFB) || (point >= 0xE0000 && point <= 0xE007F) || (point & 0xFFFE) == 0xFFFE;
}

std::string Visible(uint32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return " ";
  return point < 0x100 ? absl::StrFormat("\\x%02x", point) : absl::StrFormat("\\u{%x}", point);
}

}  // namespace

std::string PlainText(std::string_view text, size_t limit) {
  std::string plain;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    if (plain.size() + sequence.size() > limit) return plain + "...";
    if (length == 0) {
      plain += absl::StrFormat("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    } else if (const uint32_t point = CodePoint(sequence); Invisible(point)) {
      plain += Visible(point);
    } else {
      plain += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return plain;
}

std::string MarkdownText(std::string_view text, size_t limit) {
  const std::string plain = PlainText(text, limit);
  const auto at = [&](size_t i) { return i < plain.size() ? plain[i] : '\0'; };  // i - 1 of 0 is past the end too
  std::string marked;
  for (size_t i = 0; i < plain.size(); ++i) {
    switch (plain[i]) {
      case '<':
        marked += "&lt;";
        continue;
      case '>':
        marked += "&gt;";
        continue;
      case '&':
        marked += "&amp;";
        continue;
      case ':':  // no bare address becomes a link
        marked += at(i + 1) == '/' ? "&#58;" : ":";
        continue;
      case '.':
        marked += at(i - 1) == 'w' || at(i - 1) == 'W' ? "&#46;" : ".";
        continue;
      case '@':
        marked += "&#64;";
        continue;
      case '_':  // means nothing within a word
        if (!absl::ascii_isalnum(static_cast<unsigned char>(at(i - 1))) ||
            !absl::ascii_isalnum(static_cast<unsigned char>(at(i + 1)))) {
          marked += '\\';
        }
        break;
      case '#':
        if (i == 0) marked += '\\';
        break;
      case '\\':
      case '`':
      case '*':
      case '[':
      case ']':
      case '|':
      case '~':
      case '$':
        marked += '\\';
        break;
      default:
        break;
    }
    marked += plain[i];
  }
  return marked;
}

std::string HtmlText(std::string_view text, size_t limit) {
  return absl::StrReplaceAll(PlainText(text, limit),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

}  // namespace triodrill
