// Puts a tree into a message, by the descriptors and their (about) and (fault) options. One walk, one object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/tree.h"
#include "triodrill/v1/options.pb.h"

namespace triodrill {

class Walker {
 public:
  // All are borrowed for the life of the walker.
  Walker(std::string_view file, Places& places, std::vector<Diagnostic>& problems)
      : file_(file), places_(places), problems_(problems) {}

  // A whole document: `apiVersion`, `kind` and the fields of `out`.
  void Document(const YamlNode& root, google::protobuf::Message& out);

  // The fields of one mapping. `path` is "" at the top.
  void Mapping(const YamlNode& node, const std::string& path, google::protobuf::Message& out);

  // One field, single or a list.
  void Field(const YamlNode& node, const std::string& path, const google::protobuf::FieldDescriptor* field,
             google::protobuf::Message& out);

 private:
  // One value: the field itself, or one element of its list. In scalars.cc, all but Value itself.
  void Value(const YamlNode& node, const std::string& path, const google::protobuf::FieldDescriptor* field,
             google::protobuf::Message& out);
  void Text(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void Bool(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void Integer(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void Real(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void Enum(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void Duration(const YamlNode& node, const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  // A value that its unit does not allow; the status is one of units.h.
  void Unread(const YamlNode& node, const google::protobuf::FieldDescriptor* field, const Status& status);
  bool TextIsSound(const YamlNode& node, const google::protobuf::FieldDescriptor* field);

  // `with` of a fault: the fields of the one message that `inject` beside it names. `node` is nullptr if it is absent.
  void Parameters(const YamlNode& fault, const YamlNode* node, const std::string& path,
                  const google::protobuf::FieldDescriptor* field, google::protobuf::Message& out);
  void KeysAreKnown(const YamlNode& node, const std::vector<std::string>& known, std::string_view where);
  void RequiredArePresent(const YamlNode& node, const std::string& path, const google::protobuf::Message& out);
  void KindIsKnown(const YamlNode& node);

  void Problem(Place place, std::string what, std::string hint = "");

  const std::string_view file_;
  Places& places_;
  std::vector<Diagnostic>& problems_;
};

// "a duration", "a whole number", "one of rank, link", "a list of …": what a field takes, for messages and `explain`.
std::string TypeName(const google::protobuf::FieldDescriptor* field);

// "1ms to 1d", "at least 0"; empty if the field is unbounded.
std::string RangeText(const google::protobuf::FieldDescriptor* field);

const v1::About& AboutOf(const google::protobuf::FieldDescriptor* field);
bool IsDuration(const google::protobuf::FieldDescriptor* field);
bool IsParameters(const google::protobuf::FieldDescriptor* field);

// A value from the text, as it is shown in a message: in backquotes, on one line, not too long.
std::string Quoted(std::string_view text);

}  // namespace triodrill
