// A message of the schema <-> JSON, for timeline.jsonl, plan.json and the rest of a bundle.
//
// The bytes are a function of the message alone: snake_case keys in the order of field numbers, fields that are not set
// left out, 64-bit integers as plain integers, enums by name, google.protobuf.Duration as exact seconds in a string
// ("1.5s"), doubles in the shortest form that reads back the same. Bytes that are not UTF-8 in a string become U+FFFD.
// Thread-safe: no state is kept between calls.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace triodrill {

inline constexpr size_t kMaxJsonBytes = size_t{1} << 28;
inline constexpr int kMaxJsonDepth = 64;

// On one line, without a newline at its end.
std::string ToJson(const google::protobuf::Message& message);
void AppendJson(const google::protobuf::Message& message, std::string& out);

// Indented by two blanks, with a newline at its end.
std::string ToPrettyJson(const google::protobuf::Message& message);

// The reverse of both. Refuses unknown and duplicate keys, wrong types, out-of-range numbers, two members of one oneof,
// anything after the value. `message` is cleared first; on an error it holds what was read until then.
Status FromJson(std::string_view text, google::protobuf::Message& message);

// `text` as a JSON string, quotes included.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace triodrill
