// The walker's single values: text -> number, word, duration, each checked against its unit and bounds.
#include <charconv>
#include <limits>

#include "absl/strings/str_split.h"
#include "google/protobuf/duration.pb.h"
#include "re2/re2.h"
#include "triodrill/schema/enums.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/schema/units.h"
#include "triodrill/schema/utf8.h"
#include "triodrill/schema/walk.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Bound(const FieldDescriptor* field, double bound) {
  if (IsDuration(field)) return FormatDuration(Nanos(static_cast<int64_t>(bound * 1e9)));
  return Cat(bound >= 1e6 || bound <= -1e6 ? Cat(static_cast<int64_t>(bound)) : Cat(bound),
             AboutOf(field).unit() == v1::UNIT_PERCENT ? "%" : "");
}

bool InRange(const FieldDescriptor* field, double value) {
  const v1::About& about = AboutOf(field);
  return !(about.has_at_least() && value < about.at_least()) && !(about.has_at_most() && value > about.at_most());
}

// What a YAML reader would not take for text.
bool LooksLikeAnotherType(const YamlNode& node) {
  return !node.quoted && (node.scalar == "true" || node.scalar == "false" || ParseNumber(node.scalar).ok());
}

bool HasControlCharacters(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) return true;
  }
  return false;
}

std::string OutOfRange(const FieldDescriptor* field, std::string_view value) {
  return Cat("`", field->name(), "` is ", value, ", outside ", RangeText(field));
}

// `value` fits the type of the field.
template <typename T>
void Put(const FieldDescriptor* field, T value, Message& out) {
  const auto& reflection = *out.GetReflection();
  const bool list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return list ? reflection.AddInt32(&out, field, static_cast<int32_t>(value))
                  : reflection.SetInt32(&out, field, static_cast<int32_t>(value));
    case FieldDescriptor::CPPTYPE_INT64:
      return list ? reflection.AddInt64(&out, field, static_cast<int64_t>(value))
                  : reflection.SetInt64(&out, field, static_cast<int64_t>(value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return list ? reflection.AddUInt32(&out, field, static_cast<uint32_t>(value))
                  : reflection.SetUInt32(&out, field, static_cast<uint32_t>(value));
    case FieldDescriptor::CPPTYPE_UINT64:
      return list ? reflection.AddUInt64(&out, field, static_cast<uint64_t>(value))
                  : reflection.SetUInt64(&out, field, static_cast<uint64_t>(value));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return list ? reflection.AddFloat(&out, field, static_cast<float>(value))
                  : reflection.SetFloat(&out, field, static_cast<float>(value));
    default:
      return list ? reflection.AddDouble(&out, field, static_cast<double>(value))
                  : reflection.SetDouble(&out, field, static_cast<double>(value));
  }
}

struct IntegerLimits {
  int64_t least;
  uint64_t most;
};

IntegerLimits LimitsOf(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {0, std::numeric_limits<uint32_t>::max()};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {0, std::numeric_limits<uint64_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string shown;
  while (!text.empty() && shown.size() < kLongest) {
    const size_t length = Utf8SequenceLength(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool printable = length > 0 && byte >= 0x20 && byte != 0x7F;
    printable ? shown.append(text.substr(0, length)) : shown.append("?");
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return Cat("`", shown, text.empty() ? "`" : "…`");
}

std::string RangeText(const FieldDescriptor* field) {
  const v1::About& about = AboutOf(field);
  if (about.has_at_least() && about.has_at_most()) {
    return Cat(Bound(field, about.at_least()), " to ", Bound(field, about.at_most()));
  }
  if (about.has_at_least()) return Cat("at least ", Bound(field, about.at_least()));
  if (about.has_at_most()) return Cat("at most ", Bound(field, about.at_most()));
  return "";
}

void Walker::Unread(const YamlNode& node, const FieldDescriptor* field, const Status& status) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(status.message(), absl::MaxSplits("; ", 1));
  Problem(node.place, Cat("`", field->name(), "` is ", Quoted(node.scalar), ", ", parts.first), parts.second);
}

bool Walker::TextIsSound(const YamlNode& node, const FieldDescriptor* field) {
  const std::string& text = node.scalar;
  const auto refuse = [&](std::string_view what, std::string hint) {
    Problem(node.place, Cat("`", field->name(), "` ", what), std::move(hint));
    return false;
  };
  if (LooksLikeAnotherType(node)) return refuse(Cat("must be text, not ", text), Cat("write \"", text, "\""));
  if (HasControlCharacters(text)) return refuse("holds a control character", "remove it");
  if (text.empty()) return refuse("is empty", "leave the key out, or give it a value");
  switch (AboutOf(field).unit()) {
    case v1::UNIT_IDENTIFIER:
      if (IsIdentifier(text)) return true;
      return refuse(Cat("is ", Quoted(text), ", not a plain identifier"),
                    "lower-case letters, digits and inner hyphens, at most 63");
    case v1::UNIT_COMPARISON: {
      const auto comparison = ParseComparison(text);
      if (!comparison.ok()) Unread(node, field, comparison.status());
      return comparison.ok();
    }
    case v1::UNIT_REGEX: {
      RE2::Options options;
      options.set_log_errors(false);
      const RE2 regex(text, options);
      return regex.ok() || refuse(Cat("is not a regular expression (RE2): ", regex.error()), "");
    }
    default:
      return true;
  }
}

void Walker::Text(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  if (!TextIsSound(node, field)) return;
  const auto& reflection = *out.GetReflection();
  field->is_repeated() ? reflection.AddString(&out, field, node.scalar)
                       : reflection.SetString(&out, field, node.scalar);
}

void Walker::Bool(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  const bool value = node.scalar == "true";
  if (node.quoted || (!value && node.scalar != "false")) {
    return Problem(node.place, Cat("`", field->name(), "` must be true or false, not ", Quoted(node.scalar)),
                   "write true or false, without quotes");
  }
  const auto& reflection = *out.GetReflection();
  field->is_repeated() ? reflection.AddBool(&out, field, value) : reflection.SetBool(&out, field, value);
}

void Walker::Integer(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  const v1::Unit unit = AboutOf(field).unit();
  if (unit == v1::UNIT_BYTES || unit == v1::UNIT_BITS_PER_S) {
    const auto value = unit == v1::UNIT_BYTES ? ParseBytes(node.scalar) : ParseBitsPerSecond(node.scalar);
    if (!value.ok()) return Unread(node, field, value.status());
    if (!InRange(field, static_cast<double>(*value))) return Problem(node.place, OutOfRange(field, node.scalar));
    return Put(field, *value, out);
  }
  std::string_view digits = node.scalar;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  const bool all_read = end == digits.data() + digits.size() && !digits.empty();
  if (node.quoted || !all_read || error == std::errc::invalid_argument) {
    return Problem(node.place, Cat("`", field->name(), "` must be a whole number, not ", Quoted(node.scalar)),
                   node.quoted ? "write it without quotes" : "write it in decimal digits");
  }
  const IntegerLimits limits = LimitsOf(field);
  const bool fits = negative ? magnitude <= static_cast<uint64_t>(-(limits.least + 1)) + (limits.least < 0 ? 1 : 0) &&
                                   (limits.least < 0 || magnitude == 0)
                             : magnitude <= limits.most;
  const double value = negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  if (error == std::errc::result_out_of_range || !fits || !InRange(field, value)) {
    const std::string range = RangeText(field);
    return Problem(node.place, Cat("`", field->name(), "` is ", Quoted(node.scalar), ", outside ",
                                   range.empty() ? Cat(limits.least, " to ", limits.most) : range));
  }
  Put(field, negative ? ~magnitude + 1 : magnitude, out);
}

void Walker::Real(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  const v1::Unit unit = AboutOf(field).unit();
  const auto value = unit == v1::UNIT_PERCENT ? ParsePercent(node.scalar)
                     : unit == v1::UNIT_RATIO ? ParseRatio(node.scalar)
                                              : ParseNumber(node.scalar);
  if (!value.ok()) return Unread(node, field, value.status());
  if (!InRange(field, *value)) return Problem(node.place, OutOfRange(field, Quoted(node.scalar)));
  Put(field, *value, out);
}

void Walker::Enum(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  const auto* value = FindEnumValue(field->enum_type(), node.scalar);
  if (value == nullptr) {
    return Problem(node.place,
                   Cat("`", field->name(), "` is ", Quoted(node.scalar), ", which is no ", field->enum_type()->name()),
                   SuggestFrom(node.scalar, EnumSpellings(field->enum_type())));
  }
  const auto& reflection = *out.GetReflection();
  field->is_repeated() ? reflection.AddEnum(&out, field, value) : reflection.SetEnum(&out, field, value);
}

void Walker::Duration(const YamlNode& node, const FieldDescriptor* field, Message& out) {
  const auto value = ParseDuration(node.scalar);
  if (!value.ok()) return Unread(node, field, value.status());
  if (!InRange(field, static_cast<double>(value->count()) / 1e9)) {
    return Problem(node.place, OutOfRange(field, Quoted(node.scalar)));
  }
  const auto& reflection = *out.GetReflection();
  Message* made = field->is_repeated() ? reflection.AddMessage(&out, field) : reflection.MutableMessage(&out, field);
  static_cast<google::protobuf::Duration&>(*made) = ToProto(*value);
}

}  // namespace triodrill
