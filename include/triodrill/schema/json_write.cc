#include <charconv>
#include <cmath>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "triodrill/schema/json.h"
#include "triodrill/schema/utf8.h"

namespace triodrill {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

template <typename Integer>
void AppendInteger(Integer value, std::string& out) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc()) out.append(digits, end);
}

// JSON has no infinity and no NaN: they become null, which FromJson refuses.
template <typename Real>
void AppendReal(Real value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  if (value == 0 && std::signbit(value)) {
    out += "-0.0";
    return;
  }
  char digits[64];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc()) out.append(digits, end);
}

void AppendDuration(const google::protobuf::Duration& duration, std::string& out) {
  const int64_t seconds = duration.seconds();
  const int64_t nanos = duration.nanos();
  out += '"';
  if (seconds < 0 || nanos < 0) out += '-';
  AppendInteger(seconds < 0 ? -static_cast<uint64_t>(seconds) : static_cast<uint64_t>(seconds), out);
  if (nanos != 0) {
    std::string fraction;
    AppendInteger(nanos < 0 ? -nanos : nanos, fraction);
    fraction.insert(0, 9 - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += '.';
    out += fraction;
  }
  out += "s\"";
}

// One message to text. `indent_step` 0 = on one line.
class Writer {
 public:
  Writer(std::string& out, int indent_step) : out_(out), step_(indent_step) {}

  void Write(const Message& message) {
    if (message.GetDescriptor() == google::protobuf::Duration::descriptor()) {
      AppendDuration(static_cast<const google::protobuf::Duration&>(message), out_);
      return;
    }
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    if (fields.empty()) {
      out_ += "{}";
      return;
    }
    Open('{');
    bool first = true;
    for (const FieldDescriptor* field : fields) {
      Separate(first);
      out_ += '"';
      out_ += field->name();
      out_ += step_ == 0 ? "\":" : "\": ";
      if (field->is_repeated()) {
        WriteList(message, field);
      } else {
        WriteOne(message, field, -1);
      }
    }
    Close('}');
  }

 private:
  void WriteList(const Message& message, const FieldDescriptor* field) {
    const int size = message.GetReflection()->FieldSize(message, field);
    Open('[');
    bool first = true;
    for (int i = 0; i < size; ++i) {
      Separate(first);
      WriteOne(message, field, i);
    }
    Close(']');
  }

  // The field's value, or its element `i` if i >= 0.
  void WriteOne(const Message& message, const FieldDescriptor* field, int i) {
    const Reflection& reflection = *message.GetReflection();
    std::string scratch;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return AppendInteger(
            i < 0 ? reflection.GetInt32(message, field) : reflection.GetRepeatedInt32(message, field, i), out_);
      case FieldDescriptor::CPPTYPE_INT64:
        return AppendInteger(
            i < 0 ? reflection.GetInt64(message, field) : reflection.GetRepeatedInt64(message, field, i), out_);
      case FieldDescriptor::CPPTYPE_UINT32:
        return AppendInteger(
            i < 0 ? reflection.GetUInt32(message, field) : reflection.GetRepeatedUInt32(message, field, i), out_);
      case FieldDescriptor::CPPTYPE_UINT64:
        return AppendInteger(
            i < 0 ? reflection.GetUInt64(message, field) : reflection.GetRepeatedUInt64(message, field, i), out_);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return AppendReal(
            i < 0 ? reflection.GetDouble(message, field) : reflection.GetRepeatedDouble(message, field, i), out_);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return AppendReal(i < 0 ? reflection.GetFloat(message, field) : reflection.GetRepeatedFloat(message, field, i),
                          out_);
      case FieldDescriptor::CPPTYPE_BOOL:
        out_ += (i < 0 ? reflection.GetBool(message, field) : reflection.GetRepeatedBool(message, field, i)) ? "true"
                                                                                                             : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return WriteEnum(message, field, i);
      case FieldDescriptor::CPPTYPE_STRING:
        return AppendJsonString(i < 0 ? reflection.GetStringReference(message, field, &scratch)
                                      : reflection.GetRepeatedStringReference(message, field, i, &scratch),
                                out_);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Write(i < 0 ? reflection.GetMessage(message, field) : reflection.GetRepeatedMessage(message, field, i));
    }
  }

  // By name; a number that this version has no name for stays a number.
  void WriteEnum(const Message& message, const FieldDescriptor* field, int i) {
    const Reflection& reflection = *message.GetReflection();
    const int number =
        i < 0 ? reflection.GetEnumValue(message, field) : reflection.GetRepeatedEnumValue(message, field, i);
    if (const auto* value = field->enum_type()->FindValueByNumber(number)) {
      out_ += '"';
      out_ += value->name();
      out_ += '"';
    } else {
      AppendInteger(number, out_);
    }
  }

  void Open(char bracket) {
    out_ += bracket;
    depth_ += step_;
  }
  void Separate(bool& first) {
    if (!first) out_ += ',';
    first = false;
    NewLine();
  }
  void Close(char bracket) {
    depth_ -= step_;
    NewLine();
    out_ += bracket;
  }
  void NewLine() {
    if (step_ == 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(depth_), ' ');
  }

  std::string& out_;
  const int step_;
  int depth_ = 0;
};

// What must be written in another way than as itself.
constexpr bool IsPlain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

void AppendEscaped(unsigned char c, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(static_cast<unsigned char>(text[plain]))) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      AppendEscaped(static_cast<unsigned char>(text[0]), out);
      text.remove_prefix(1);
    } else if (const size_t length = Utf8SequenceLength(text); length > 0) {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    } else {
      out += "\xEF\xBF\xBD";  // U+FFFD
      text.remove_prefix(1);
    }
  }
  out += '"';
}

void AppendJson(const Message& message, std::string& out) { Writer(out, 0).Write(message); }

std::string ToJson(const Message& message) {
  std::string out;
  AppendJson(message, out);
  return out;
}

std::string ToPrettyJson(const Message& message) {
  std::string out;
  Writer(out, 2).Write(message);
  out += '\n';
  return out;
}

}  // namespace triodrill
