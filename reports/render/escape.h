// Strings that others wrote, made harmless for where they are shown: no control characters, no terminal escapes, no
// bidirectional overrides, no markup, bounded in length. Pure.
#pragma once

#include <string>
#include <string_view>

namespace triodrill {

inline constexpr size_t kLongestQuote = 240;

// One line of plain text: control and format characters become visible escapes ("\x1b"), bytes that are not UTF-8
// become "\xff"-like escapes, what is longer than `limit` bytes is cut and says so.
std::string PlainText(std::string_view text, size_t limit = kLongestQuote);
// PlainText with everything that Markdown or HTML would read as markup escaped.
std::string MarkdownText(std::string_view text, size_t limit = kLongestQuote);
// PlainText as the text of an HTML element, or as the value of a quoted attribute.
std::string HtmlText(std::string_view text, size_t limit = kLongestQuote);

}  // namespace triodrill
