#include "triodrill/schema/enums.h"

#include "absl/strings/ascii.h"
#include "google/protobuf/descriptor.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;

// Value 0 is `<PREFIX>UNSPECIFIED` in every enum of the schema. The prefix may stand before the other names, too.
std::string WithoutPrefix(const EnumValueDescriptor* value) {
  constexpr std::string_view kUnspecified = "UNSPECIFIED";
  const std::string& zero = value->type()->value(0)->name();
  const std::string prefix = zero.substr(0, zero.size() - std::min(zero.size(), kUnspecified.size()));
  return value->name().starts_with(prefix) ? value->name().substr(prefix.size()) : value->name();
}

}  // namespace

std::string EnumSpelling(const EnumValueDescriptor* value) {
  const std::string name = WithoutPrefix(value);
  constexpr size_t kLongestCode = 2;  // P1
  return name.size() <= kLongestCode ? name : absl::AsciiStrToLower(name);
}

std::vector<std::string> EnumSpellings(const EnumDescriptor* type) {
  std::vector<std::string> spellings;
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() != 0) spellings.push_back(EnumSpelling(type->value(i)));
  }
  return spellings;
}

const EnumValueDescriptor* FindEnumValue(const EnumDescriptor* type, std::string_view text) {
  for (int i = 0; i < type->value_count(); ++i) {
    const EnumValueDescriptor* value = type->value(i);
    if (value->number() == 0) continue;
    if (text == EnumSpelling(value) || text == WithoutPrefix(value) || text == value->name()) return value;
  }
  return nullptr;
}

}  // namespace triodrill
