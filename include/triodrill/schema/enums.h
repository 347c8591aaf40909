// How the values of an enum are spelt in YAML: lower case, without the prefix that proto needs ("node" for
// DOMAIN_NODE), and as named where the name is a code ("P1"). Either spelling is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class EnumDescriptor;
class EnumValueDescriptor;
}  // namespace google::protobuf

namespace triodrill {

std::string EnumSpelling(const google::protobuf::EnumValueDescriptor* value);

// Of every value that can be written: all but the unspecified one.
std::vector<std::string> EnumSpellings(const google::protobuf::EnumDescriptor* type);

// nullptr if no value is spelt so.
const google::protobuf::EnumValueDescriptor* FindEnumValue(const google::protobuf::EnumDescriptor* type,
                                                           std::string_view text);

}  // namespace triodrill
