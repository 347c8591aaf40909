#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// "-1.5s" -> exact seconds and nanoseconds, both with the sign.
bool ReadDuration(std::string_view text, google::protobuf::Duration& out) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!text.ends_with('s')) return false;
  text.remove_suffix(1);
  const size_t point = text.find('.');
  std::string fraction(point == std::string_view::npos ? "0" : text.substr(point + 1));
  const std::string whole(text.substr(0, point));
  const auto all_digits = [](const std::string& digits) {
    return !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!all_digits(whole) || !all_digits(fraction) || whole.size() > 12 || fraction.size() > 9) return false;
  fraction.append(9 - fraction.size(), '0');
  const int64_t sign = negative ? -1 : 1;
  out.set_seconds(sign * std::stoll(whole));
  out.set_nanos(static_cast<int32_t>(sign * std::stoll(fraction)));
  return true;
}

// Receives nlohmann's events and writes into the message as they come; no tree is built. Every handler returns false
// to stop at the first thing wrong, with `problem_` set.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(Message& root) : root_(root) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Fail("null where a value belongs"); }

  bool boolean(bool value) override {
    const FieldDescriptor* field = Expect(FieldDescriptor::CPPTYPE_BOOL, "true or false");
    if (field == nullptr) return false;
    Message& m = *frames_.back().message;
    field->is_repeated() ? m.GetReflection()->AddBool(&m, field, value) : m.GetReflection()->SetBool(&m, field, value);
    return true;
  }

  bool number_integer(number_integer_t value) override {
    return SetInteger(value, value < 0 ? 0 : static_cast<uint64_t>(value), value < 0);
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return SetInteger(static_cast<int64_t>(std::min(value, kMost)), value, false);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    const FieldDescriptor* field = Scalar();
    if (field == nullptr) return false;
    const bool real =
        field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE || field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
    if (!real) return Fail(Cat("the number ", text, " where a ", field->cpp_type_name(), " belongs"));
    return SetReal(field, value);
  }

  bool string(string_t& value) override {
    if (frames_.empty()) return Fail("a string where an object belongs");
    const FieldDescriptor* field = Current();
    if (field == nullptr) return false;
    Message& m = *frames_.back().message;
    const auto& reflection = *m.GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      field->is_repeated() ? reflection.AddString(&m, field, value) : reflection.SetString(&m, field, value);
      return true;
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      const auto* known = field->enum_type()->FindValueByName(value);
      if (known == nullptr) return Fail(Cat("no such ", field->enum_type()->name(), ": ", value));
      field->is_repeated() ? reflection.AddEnum(&m, field, known) : reflection.SetEnum(&m, field, known);
      return true;
    }
    if (IsDuration(field)) {
      Message* made = field->is_repeated() ? reflection.AddMessage(&m, field) : reflection.MutableMessage(&m, field);
      if (!ReadDuration(value, static_cast<google::protobuf::Duration&>(*made))) {
        return Fail(Cat("not a duration in seconds: ", value));
      }
      return true;
    }
    return Fail(Cat("a string where a ", field->cpp_type_name(), " belongs"));
  }

  bool binary(binary_t& /*value*/) override { return Fail("binary data"); }

  bool start_object(std::size_t /*elements*/) override {
    if (static_cast<int>(frames_.size()) >= kMaxJsonDepth) return Fail("nested too deeply");
    if (frames_.empty()) {
      frames_.push_back(Frame::Of(root_));
      return true;
    }
    const FieldDescriptor* field = Current();
    if (field == nullptr) return false;
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || IsDuration(field)) {
      return Fail(Cat("an object where a ", IsDuration(field) ? "duration" : field->cpp_type_name(), " belongs"));
    }
    Message& m = *frames_.back().message;
    Message* made =
        field->is_repeated() ? m.GetReflection()->AddMessage(&m, field) : m.GetReflection()->MutableMessage(&m, field);
    frames_.push_back(Frame::Of(*made));
    return true;
  }

  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    const auto* descriptor = frame.message->GetDescriptor();
    frame.field = FindField(*descriptor, frame.next, name);
    if (frame.field == nullptr) return Fail(Cat("unknown key `", name, "` in ", descriptor->name()));
    if (frame.Seen(frame.field->index())) return Fail(Cat("duplicate key `", name, "`"));
    frame.next = frame.field->index() + 1;
    const auto* oneof = frame.field->real_containing_oneof();
    if (oneof != nullptr && frame.message->GetReflection()->HasOneof(*frame.message, oneof)) {
      return Fail(Cat("`", name, "` beside another of `", oneof->name(), "`"));
    }
    return true;
  }

  bool end_object() override {
    frames_.pop_back();
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (frames_.empty()) return Fail("a list where an object belongs");
    Frame& frame = frames_.back();
    if (!frame.field->is_repeated() || frame.in_list) return Fail("a list where a single value belongs");
    frame.in_list = true;
    return true;
  }

  bool end_array() override {
    frames_.back().in_list = false;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    return Fail(Cat("not JSON at byte ", position, ": ", error.what()));
  }

 private:
  struct Frame {
    Message* message = nullptr;
    const FieldDescriptor* field = nullptr;  // of the key read last
    bool in_list = false;
    int next = 0;  // index of the field that most likely comes next: files of ours keep the schema's order
    uint64_t seen = 0;
    std::vector<bool> seen_beyond;  // of a message with more fields than that has bits

    static Frame Of(Message& m) { return {.message = &m}; }
    // Whether it was asked for before.
    bool Seen(int index) {
      if (index < 64) {
        const uint64_t bit = uint64_t{1} << index;
        const bool before = (seen & bit) != 0;
        seen |= bit;
        return before;
      }
      const auto beyond = static_cast<size_t>(index - 64);
      if (seen_beyond.size() <= beyond) seen_beyond.resize(beyond + 1);
      const bool before = seen_beyond[beyond];
      seen_beyond[beyond] = true;
      return before;
    }
  };

  // A look at the next few is cheaper than a look into the descriptor's table.
  static const FieldDescriptor* FindField(const google::protobuf::Descriptor& descriptor, int next,
                                          const std::string& name) {
    constexpr int kLooks = 4;
    for (int i = next; i < std::min(next + kLooks, descriptor.field_count()); ++i) {
      if (descriptor.field(i)->name() == name) return descriptor.field(i);
    }
    return descriptor.FindFieldByName(name);
  }

  static bool IsDuration(const FieldDescriptor* field) {
    return field->message_type() == google::protobuf::Duration::descriptor();
  }

  // The first problem is kept: what follows from it is of no use.
  bool Fail(std::string_view problem) {
    if (problem_.empty()) problem_ = Cat(Where(), problem);
    return false;
  }

  std::string Where() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.field == nullptr) break;
      Append(path, path.empty() ? "" : ".", frame.field->name());
    }
    return path.empty() ? path : path + ": ";
  }

  // The field that the value at hand belongs to; nullptr (and a problem) if a list belongs there.
  const FieldDescriptor* Current() {
    const Frame& frame = frames_.back();
    if (frame.field->is_repeated() && !frame.in_list) {
      Fail("a single value where a list belongs");
      return nullptr;
    }
    return frame.field;
  }

  const FieldDescriptor* Scalar() {
    if (frames_.empty()) {
      Fail("a number or a word where an object belongs");
      return nullptr;
    }
    return Current();
  }

  const FieldDescriptor* Expect(FieldDescriptor::CppType type, std::string_view what) {
    const FieldDescriptor* field = Scalar();
    if (field == nullptr || field->cpp_type() == type) return field;
    Fail(Cat(what, " where a ", field->cpp_type_name(), " belongs"));
    return nullptr;
  }

  // `magnitude` is the value itself if it is not negative.
  bool SetInteger(int64_t value, uint64_t magnitude, bool negative) {
    const FieldDescriptor* field = Scalar();
    if (field == nullptr) return false;
    Message& m = *frames_.back().message;
    const auto& reflection = *m.GetReflection();
    const bool list = field->is_repeated();
    const auto too_big = [&](uint64_t most) { return !negative && magnitude > most; };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        if (too_big(std::numeric_limits<int32_t>::max()) || value < std::numeric_limits<int32_t>::min()) break;
        list ? reflection.AddInt32(&m, field, static_cast<int32_t>(value))
             : reflection.SetInt32(&m, field, static_cast<int32_t>(value));
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        if (too_big(std::numeric_limits<int64_t>::max())) break;
        list ? reflection.AddInt64(&m, field, value) : reflection.SetInt64(&m, field, value);
        return true;
      case FieldDescriptor::CPPTYPE_UINT32:
        if (negative || too_big(std::numeric_limits<uint32_t>::max())) break;
        list ? reflection.AddUInt32(&m, field, static_cast<uint32_t>(magnitude))
             : reflection.SetUInt32(&m, field, static_cast<uint32_t>(magnitude));
        return true;
      case FieldDescriptor::CPPTYPE_UINT64:
        if (negative) break;
        list ? reflection.AddUInt64(&m, field, magnitude) : reflection.SetUInt64(&m, field, magnitude);
        return true;
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return SetReal(field, negative ? static_cast<double>(value) : static_cast<double>(magnitude));
      default:
        return Fail(Cat("a number where a ", field->cpp_type_name(), " belongs"));
    }
    return Fail("a number out of range");
  }

  bool SetReal(const FieldDescriptor* field, double value) {
    if (!std::isfinite(value)) return Fail("a number out of range");
    Message& m = *frames_.back().message;
    const auto& reflection = *m.GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
      const auto narrow = static_cast<float>(value);
      field->is_repeated() ? reflection.AddFloat(&m, field, narrow) : reflection.SetFloat(&m, field, narrow);
    } else {
      field->is_repeated() ? reflection.AddDouble(&m, field, value) : reflection.SetDouble(&m, field, value);
    }
    return true;
  }

  Message& root_;
  std::vector<Frame> frames_;
  std::string problem_;
};

}  // namespace

Status FromJson(std::string_view text, Message& message) {
  message.Clear();
  const std::string name = message.GetDescriptor()->name();
  if (text.size() > kMaxJsonBytes) return absl::InvalidArgumentError(Cat("read ", name, ": larger than 256 MiB"));
  Reader reader(message);
  bool read = false;
  // A bound that no event shows (bad_alloc) is the only thing that still throws.
  try {
    read = nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(Cat("read ", name, ": ", error.what()));
  }
  if (!read || !reader.problem().empty()) {
    return absl::InvalidArgumentError(Cat("read ", name, ": ", reader.problem()));
  }
  return Ok();
}

}  // namespace triodrill
