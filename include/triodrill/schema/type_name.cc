#include "absl/strings/str_join.h"
#include "triodrill/schema/enums.h"
#include "triodrill/schema/walk.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::FieldDescriptor;

std::string ElementName(const FieldDescriptor* field) {
  switch (AboutOf(field).unit()) {
    case v1::UNIT_RATIO:
      return "a ratio (0.95 or 95%)";
    case v1::UNIT_PERCENT:
      return "a percentage";
    case v1::UNIT_BYTES:
      return "a size in bytes";
    case v1::UNIT_BITS_PER_S:
      return "a rate in bits a second";
    case v1::UNIT_REGEX:
      return "a regular expression (RE2)";
    case v1::UNIT_IDENTIFIER:
      return "an identifier";
    case v1::UNIT_COMPARISON:
      return "a comparison (\">= 1\")";
    default:
      break;
  }
  if (IsDuration(field)) return "a duration";
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "text";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return Cat("one of ", absl::StrJoin(EnumSpellings(field->enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "a mapping";
    default:
      return "a whole number";
  }
}

}  // namespace

std::string TypeName(const FieldDescriptor* field) {
  return field->is_repeated() ? Cat("a list, each ", ElementName(field)) : ElementName(field);
}

}  // namespace triodrill
