#include <set>

#include "nlohmann/json.hpp"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/documents.h"
#include "triodrill/schema/enums.h"
#include "triodrill/schema/explain.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/schema/walk.h"
#include "triodrill/schema/yaml.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

Json Pattern(std::string_view expression) { return {{"type", "string"}, {"pattern", expression}}; }

// An editor cannot compare "90s" with a bound, so bounds of values with units stand in the description alone.
void AddBounds(const FieldDescriptor* field, Json& schema) {
  const v1::About& about = AboutOf(field);
  if (about.has_at_least()) schema["minimum"] = about.at_least();
  if (about.has_at_most()) schema["maximum"] = about.at_most();
}

class Builder {
 public:
  Json Definitions() { return definitions_; }

  Json Object(const Descriptor* type) {
    Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    AddFields(type, schema);
    return schema;
  }

  void AddFields(const Descriptor* type, Json& schema) {
    Json required = schema.contains("required") ? schema["required"] : Json::array();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      schema["properties"][field->name()] = IsParameters(field) ? Json{{"type", "object"}} : Field(field);
      if (AboutOf(field).required()) required.push_back(field->name());
      if (IsParameters(field)) schema["allOf"] = Choices(field);
    }
    if (!required.empty()) schema["required"] = required;
  }

 private:
  // `with` is what `inject` beside it says.
  Json Choices(const FieldDescriptor* with) {
    Json choices = Json::array();
    for (const FaultRow& row : FaultCatalogue()) {
      choices.push_back(
          {{"if", {{"properties", {{"inject", {{"const", row.kind}}}}}, {"required", Json::array({"inject"})}}},
           {"then", {{"properties", {{with->name(), Reference(row.parameters)}}}}}});
    }
    return choices;
  }

  Json Reference(const Descriptor* type) {
    if (names_.insert(type->name()).second) {
      definitions_[type->name()] = Json();  // keeps the order of first use
      definitions_[type->name()] = Object(type);
    }
    return {{"$ref", Cat("#/$defs/", type->name())}};
  }

  Json Field(const FieldDescriptor* field) {
    Json schema = Element(field);
    if (field->is_repeated()) {
      schema = {{"type", "array"}, {"items", schema}};
      if (AboutOf(field).required()) schema["minItems"] = 1;
    }
    const std::string range = RangeText(field);
    schema["description"] = range.empty() ? AboutOf(field).doc() : Cat(AboutOf(field).doc(), " (", range, ")");
    if (!AboutOf(field).default_value().empty()) schema["x-default"] = AboutOf(field).default_value();
    return schema;
  }

  Json Element(const FieldDescriptor* field) {
    if (field->name() == "inject") return Kinds();
    if (IsDuration(field)) return Pattern("^[0-9]+(\\.[0-9]+)?(ns|us|ms|s|min|h|d)$");
    switch (AboutOf(field).unit()) {
      case v1::UNIT_RATIO:
        return {{"anyOf", Json::array({Json{{"type", "number"}}, Pattern("^[0-9.]+%$")})}};
      case v1::UNIT_PERCENT:
        return Pattern("^[0-9.]+%$");
      case v1::UNIT_BYTES:
        return Pattern("^[0-9]+(\\.[0-9]+)?([kMGT]|[KMGT]i)?B$");
      case v1::UNIT_BITS_PER_S:
        return Pattern("^[0-9]+(\\.[0-9]+)?[kMGT]?bit/s$");
      case v1::UNIT_IDENTIFIER:
        return Pattern("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$");
      case v1::UNIT_COMPARISON:
        return Pattern("^(>=|<=|==|>|<) *[-+]?[0-9]");
      default:
        break;
    }
    Json schema;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return {{"type", "string"}, {"minLength", 1}};
      case FieldDescriptor::CPPTYPE_BOOL:
        return {{"type", "boolean"}};
      case FieldDescriptor::CPPTYPE_ENUM:
        return {{"enum", EnumSpellings(field->enum_type())}};
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Reference(field->message_type());
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        schema["type"] = "number";
        break;
      default:
        schema["type"] = "integer";
    }
    AddBounds(field, schema);
    return schema;
  }

  static Json Kinds() {
    Json kinds = Json::array();
    for (const FaultRow& row : FaultCatalogue()) kinds.push_back(row.kind);
    return {{"enum", kinds}};
  }

  std::set<std::string> names_;
  Json definitions_ = Json::object();
};

}  // namespace

Result<std::string> JsonSchema(std::string_view kind) {
  const Descriptor* type = FindDocumentType(kind);
  if (type == nullptr) {
    std::vector<std::string> known;
    for (const Descriptor* document : DocumentTypes()) known.push_back(document->name());
    return absl::NotFoundError(Cat("write a JSON Schema: no kind ", Quoted(kind), "; ", SuggestFrom(kind, known)));
  }
  Builder builder;
  Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", type->name()},
      {"description", type->options().GetExtension(v1::explain)},
      {"type", "object"},
      {"additionalProperties", false},
      {"properties", {{"apiVersion", {{"const", std::string(kApiVersion)}}}, {"kind", {{"const", type->name()}}}}},
      {"required", Json::array({"apiVersion", "kind"})}};
  builder.AddFields(type, schema);
  schema["$defs"] = builder.Definitions();
  return schema.dump(2) + "\n";
}

}  // namespace triodrill
