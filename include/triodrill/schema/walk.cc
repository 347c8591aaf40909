#include "triodrill/schema/walk.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "google/protobuf/duration.pb.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/text.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// More than anybody reads; hostile texts have a million.
constexpr size_t kMostProblems = 100;

std::string Join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : Cat(path, ".", name);
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

bool IsMapping(const YamlNode& node) { return node.kind == YamlNode::Kind::kMapping; }

}  // namespace

const v1::About& AboutOf(const FieldDescriptor* field) { return field->options().GetExtension(v1::about); }

bool IsDuration(const FieldDescriptor* field) {
  return field->message_type() == google::protobuf::Duration::descriptor();
}

bool IsParameters(const FieldDescriptor* field) { return field->message_type() == v1::Parameters::descriptor(); }

void Walker::Problem(Place place, std::string what, std::string hint) {
  if (problems_.size() >= kMostProblems) return;
  problems_.push_back({std::string(file_), place.line, place.column, std::move(what), std::move(hint)});
}

void Walker::Document(const YamlNode& root, Message& out) {
  const std::string& wanted = out.GetDescriptor()->name();
  if (!IsMapping(root)) {
    return Problem(root.place, "not a mapping", Cat("begin with `apiVersion: ", kApiVersion, "`"));
  }
  const auto expect = [&](std::string_view key, std::string_view value) {
    const YamlNode* node = root.Find(key);
    if (node == nullptr) return Problem(root.place, Cat("`", key, "` is missing"), Cat("add `", key, ": ", value, "`"));
    if (node->kind == YamlNode::Kind::kScalar && node->scalar == value) return;
    const std::string found = node->kind == YamlNode::Kind::kScalar ? Quoted(node->scalar) : "no text";
    Problem(node->place, Cat("`", key, "` is ", found, ", not `", value, "`"), Cat("write `", key, ": ", value, "`"));
  };
  expect("apiVersion", kApiVersion);
  expect("kind", wanted);
  std::vector<std::string> known = {"apiVersion", "kind"};
  for (const std::string& name : FieldNames(out.GetDescriptor())) known.push_back(name);
  KeysAreKnown(root, known, wanted);
  Mapping(root, "", out);
}

void Walker::KeysAreKnown(const YamlNode& node, const std::vector<std::string>& known, std::string_view where) {
  std::map<std::string_view, int> first_line;
  for (const YamlKey& key : node.keys) {
    if (problems_.size() >= kMostProblems) return;
    if (std::find(known.begin(), known.end(), key.name) == known.end()) {
      Problem(key.place, Cat("unknown key ", Quoted(key.name), " in ", where),
              known.empty() ? "it takes no keys" : SuggestFrom(key.name, known));
    }
    const auto [first, fresh] = first_line.emplace(key.name, key.place.line);
    if (fresh) continue;
    Problem(key.place, Cat("duplicate key ", Quoted(key.name)),
            Cat("it stands in line ", first->second, " already; keep one"));
  }
}

void Walker::Mapping(const YamlNode& node, const std::string& path, Message& out) {
  const Descriptor* type = out.GetDescriptor();
  // The keys of the document itself are checked together with apiVersion and kind.
  if (!path.empty()) KeysAreKnown(node, FieldNames(type), type->name());
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const YamlNode* value = node.Find(field->name());
    if (IsParameters(field)) {
      Parameters(node, value, Join(path, field->name()), field, out);
    } else if (value != nullptr) {
      Field(*value, Join(path, field->name()), field, out);
    }
  }
  RequiredArePresent(node, path, out);
}

void Walker::RequiredArePresent(const YamlNode& node, const std::string& path, const Message& out) {
  const Descriptor* type = out.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const v1::About& about = AboutOf(field);
    if (!about.required() || places_.Written(Join(path, field->name()))) continue;
    const std::string example = about.example().empty() ? "" : " " + about.example();
    Problem(node.place, Cat("`", field->name(), "` is missing in ", type->name()),
            Cat("add `", field->name(), ":", example, "`"));
  }
}

void Walker::Field(const YamlNode& node, const std::string& path, const FieldDescriptor* field, Message& out) {
  places_.Set(path, node.place);
  if (node.kind == YamlNode::Kind::kNull) {
    return Problem(node.place, Cat("`", field->name(), "` has no value"),
                   Cat("leave the key out, or write ", TypeName(field)));
  }
  if (!field->is_repeated()) return Value(node, path, field, out);
  if (node.kind != YamlNode::Kind::kSequence) {
    const bool scalar = node.kind == YamlNode::Kind::kScalar;
    return Problem(node.place, Cat("`", field->name(), "` must be ", TypeName(field)),
                   scalar ? Cat("write [", node.scalar.substr(0, 40), "]") : "begin each element with `- `");
  }
  if (node.items.empty() && AboutOf(field).required()) {
    return Problem(node.place, Cat("`", field->name(), "` is empty"), "give it one element at least");
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string element = Cat(path, "[", i, "]");
    places_.Set(element, node.items[i].place);
    Value(node.items[i], element, field, out);
  }
}

void Walker::Value(const YamlNode& node, const std::string& path, const FieldDescriptor* field, Message& out) {
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field);
  const auto wanted = is_message ? YamlNode::Kind::kMapping : YamlNode::Kind::kScalar;
  if (node.kind != wanted) {
    std::string hint;
    if (is_message) {
      hint = Cat("its keys: ", absl::StrJoin(FieldNames(field->message_type()), ", "));
    } else if (!AboutOf(field).example().empty()) {
      hint = Cat("write it like ", AboutOf(field).example());
    }
    return Problem(node.place, Cat("`", field->name(), "` must be ", is_message ? "a mapping" : TypeName(field)), hint);
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return Text(node, field, out);
    case FieldDescriptor::CPPTYPE_BOOL:
      return Bool(node, field, out);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Enum(node, field, out);
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Real(node, field, out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
    default:
      return Integer(node, field, out);
  }
  if (IsDuration(field)) return Duration(node, field, out);
  const auto& reflection = *out.GetReflection();
  Mapping(node, path,
          field->is_repeated() ? *reflection.AddMessage(&out, field) : *reflection.MutableMessage(&out, field));
}

void Walker::Parameters(const YamlNode& fault, const YamlNode* node, const std::string& path,
                        const FieldDescriptor* field, Message& out) {
  if (node != nullptr) places_.Set(path, node->place);
  const YamlNode* inject = fault.Find("inject");
  if (inject == nullptr || inject->kind != YamlNode::Kind::kScalar) return;  // complained of as a required field
  const FaultRow* row = FindFaultRow(inject->scalar);
  if (row == nullptr) return KindIsKnown(*inject);
  if (node != nullptr && !IsMapping(*node)) {
    return Problem(node->place, "`with` must be a mapping", Cat("`triodrill explain ", row->kind, "` lists its keys"));
  }
  auto* parameters = static_cast<v1::Parameters*>(out.GetReflection()->MutableMessage(&out, field));
  Message& chosen = *parameters->GetReflection()->MutableMessage(parameters, row->field);
  YamlNode absent;
  absent.kind = YamlNode::Kind::kMapping;
  absent.place = inject->place;
  Mapping(node == nullptr ? absent : *node, path, chosen);
}

void Walker::KindIsKnown(const YamlNode& node) {
  std::vector<std::string> kinds;
  for (const FaultRow& row : FaultCatalogue()) kinds.push_back(row.kind);
  Problem(node.place, Cat("unknown fault ", Quoted(node.scalar)), SuggestFrom(node.scalar, kinds));
}

}  // namespace triodrill
