#include "triodrill/schema/catalogue.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "triodrill/schema/nearest.h"

namespace triodrill {

const std::vector<FaultRow>& FaultCatalogue() {
  static const auto* const rows = [] {
    auto* made = new std::vector<FaultRow>;
    const auto* descriptor = v1::Parameters::descriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      const v1::FaultFacts& facts = field->message_type()->options().GetExtension(v1::fault);
      made->push_back({facts.kind(), facts, field->message_type(), field});
    }
    return made;
  }();
  return *rows;
}

const FaultRow* FindFaultRow(std::string_view kind) {
  for (const FaultRow& row : FaultCatalogue()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

std::string_view KindOf(const v1::Parameters& parameters) {
  for (const FaultRow& row : FaultCatalogue()) {
    if (row.field->number() == static_cast<int>(parameters.of_case())) return row.kind;
  }
  return "";
}

bool SelectParameters(std::string_view kind, v1::Parameters& parameters) {
  const FaultRow* row = FindFaultRow(kind);
  if (row == nullptr) return false;
  parameters.Clear();
  parameters.GetReflection()->MutableMessage(&parameters, row->field);
  return true;
}

const google::protobuf::Message* SelectedParameters(const v1::Parameters& parameters) {
  const FaultRow* row = FindFaultRow(KindOf(parameters));
  return row == nullptr ? nullptr : &parameters.GetReflection()->GetMessage(parameters, row->field);
}

std::string_view NearestKind(std::string_view kind) {
  std::vector<std::string> kinds;
  for (const FaultRow& row : FaultCatalogue()) kinds.push_back(row.kind);
  const FaultRow* row = FindFaultRow(Nearest(kind, kinds));
  return row == nullptr ? std::string_view() : std::string_view(row->kind);
}

}  // namespace triodrill
