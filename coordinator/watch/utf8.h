// Text from outside made safe for protobuf strings and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace triodrill::watch {

// `bytes` with every byte that is not UTF-8, and every NUL, as U+FFFD; adds their number to `replaced`.
std::string ToUtf8(std::string_view bytes, int64_t& replaced);

// The longest prefix of at most `limit` bytes that does not end within a character.
std::string_view PrefixOfCharacters(std::string_view text, size_t limit);

}  // namespace triodrill::watch
