// What is not the same in two runs.
#include <algorithm>
#include <memory>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "reports/compare/compare.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

// A field as it stands in the file; "" where it is not set.
std::string FieldText(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool set =
      field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
  if (!set) return "";
  if (!field->is_repeated() && field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    return reflection.GetString(message, field);
  }
  std::unique_ptr<google::protobuf::Message> alone(message.New());
  alone->CopyFrom(message);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(*alone, &fields);
  for (const google::protobuf::FieldDescriptor* other : fields) {
    if (other != field) reflection.ClearField(alone.get(), other);
  }
  // {"name":VALUE} -> VALUE
  const std::string json = ToJson(*alone);
  const size_t colon = json.find(':');
  return json.substr(colon + 1, json.size() - colon - 2);
}

// Field by field, those named in `but` left out.
void CompareFields(const google::protobuf::Message& base, const google::protobuf::Message& next,
                   const std::string& where, const std::vector<std::string>& but, std::vector<RunDifference>& found) {
  const google::protobuf::Descriptor* const type = base.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = type->field(i);
    if (std::find(but.begin(), but.end(), field->name()) != but.end()) continue;
    std::string was = FieldText(base, field);
    std::string is = FieldText(next, field);
    if (was != is) found.push_back({where + field->name(), std::move(was), std::move(is)});
  }
}

void CompareText(const char* what, const std::string& base, const std::string& next,
                 std::vector<RunDifference>& found) {
  if (base != next) found.push_back({what, base, next});
}

std::string SubstitutionsOf(const v1::Plan& plan) {
  std::string text;
  for (const v1::Substitution& one : plan.substitutions()) {
    text += (text.empty() ? "" : ", ") + one.fault_id() + ": " + one.used() + " for " + one.wanted();
  }
  return text;
}

}  // namespace

std::vector<RunDifference> DifferencesOf(const v1::Plan& base, const v1::Plan& next) {
  std::vector<RunDifference> found;
  CompareText("drill.name", base.drill().metadata().name(), next.drill().metadata().name(), found);
  // What is expected, and how often it was tried, may change: neither changes what is measured.
  CompareFields(base.drill().spec(), next.drill().spec(), "drill.spec.", {"expect", "trials"}, found);
  CompareText("partition.name", base.partition().metadata().name(), next.partition().metadata().name(), found);
  CompareFields(base.partition().spec(), next.partition().spec(), "partition.spec.", {"environment"}, found);
  CompareFields(base.partition().spec().environment(), next.partition().spec().environment(), "partition.environment.",
                {}, found);
  CompareText("pipeline.name", base.pipeline().metadata().name(), next.pipeline().metadata().name(), found);
  CompareFields(base.pipeline().spec(), next.pipeline().spec(), "pipeline.spec.", {}, found);
  CompareText("substitutions", SubstitutionsOf(base), SubstitutionsOf(next), found);
  return found;
}

std::vector<RunDifference> RemarksOn(const Trio& base, const Trio& next) {
  std::vector<RunDifference> found;
  CompareText("tool_version", base.run.tool_version, next.run.tool_version, found);
  CompareText("host", base.run.host, next.run.host, found);
  CompareText("kernel", base.run.kernel, next.run.kernel, found);
  return found;
}

}  // namespace triodrill
