#include "triodrill/schema/defaults.h"

#include "triodrill/schema/walk.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsMapping(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field);
}

// Whether an absent mapping of this type stands for its defaults.
bool StandsForItsDefaults(const Descriptor* type) {
  bool any = false;
  for (int i = 0; i < type->field_count(); ++i) {
    if (AboutOf(type->field(i)).required()) return false;
    any = any || !AboutOf(type->field(i)).default_value().empty();
  }
  return any;
}

class Filler {
 public:
  explicit Filler(const Places& places) : places_(places) {}

  void Fill(Message& message, const std::string& path) {
    const Descriptor* type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      FillField(message, field, path.empty() ? field->name() : Cat(path, ".", field->name()));
    }
  }

 private:
  void FillField(Message& message, const FieldDescriptor* field, const std::string& path) {
    const auto& reflection = *message.GetReflection();
    const std::string& value = AboutOf(field).default_value();
    if (!value.empty() && !places_.Written(path)) return Set(message, field, value);
    if (!IsMapping(field)) return;
    if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Fill(*reflection.MutableRepeatedMessage(&message, field, i), Cat(path, "[", i, "]"));
      }
    } else if (IsParameters(field)) {
      FillParameters(message, field, path);
    } else if (reflection.HasField(message, field) || StandsForItsDefaults(field->message_type())) {
      Fill(*reflection.MutableMessage(&message, field), path);
    }
  }

  // The parameters of the chosen fault stand directly below `with`.
  void FillParameters(Message& message, const FieldDescriptor* field, const std::string& path) {
    if (!message.GetReflection()->HasField(message, field)) return;
    Message& parameters = *message.GetReflection()->MutableMessage(&message, field);
    std::vector<const FieldDescriptor*> chosen;
    parameters.GetReflection()->ListFields(parameters, &chosen);
    if (!chosen.empty()) Fill(*parameters.GetReflection()->MutableMessage(&parameters, chosen.front()), path);
  }

  // A default is YAML as a person would write it, so the walker reads it. That each one can be read is tested.
  static void Set(Message& message, const FieldDescriptor* field, const std::string& value) {
    Places places;
    std::vector<Diagnostic> problems;
    YamlNode node;
    if (!ParseTree(value, "default", node, problems)) return;
    Walker("default", places, problems).Field(node, field->name(), field, message);
  }

  const Places& places_;
};

}  // namespace

void FillDefaults(Message& message, const Places& places) { Filler(places).Fill(message, ""); }

}  // namespace triodrill
