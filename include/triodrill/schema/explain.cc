#include "triodrill/schema/explain.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/documents.h"
#include "triodrill/schema/enums.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/schema/walk.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kNameWidth = 20;

std::string Padded(std::string_view text, size_t width) {
  return Cat(text, std::string(text.size() < width ? width - text.size() : 1, ' '));
}

// "a duration, 1ms to 1d, default 5s, required, like 10s"
std::string Facts(const FieldDescriptor* field) {
  const v1::About& about = AboutOf(field);
  std::string text = TypeName(field);
  if (const std::string range = RangeText(field); !range.empty()) Append(text, ", ", range);
  if (about.required()) Append(text, ", required");
  if (!about.default_value().empty()) Append(text, ", default ", about.default_value());
  if (!about.example().empty()) Append(text, ", like ", about.example());
  return text;
}

std::string FieldTable(const Descriptor* type) {
  std::string text;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    Append(text, "  ", Padded(field->name(), kNameWidth), AboutOf(field).doc(), "\n");
    Append(text, "  ", std::string(kNameWidth, ' '), Facts(field), "\n");
  }
  return text;
}

std::string Kinds() {
  std::string text;
  for (const FaultRow& row : FaultCatalogue()) Append(text, "  ", Padded(row.kind, kNameWidth), row.facts.doc(), "\n");
  return text;
}

std::string ExplainFault(const FaultRow& row) {
  const v1::FaultFacts& facts = row.facts;
  std::string text = Cat(row.kind, "\n  ", facts.doc(), "\n\n");
  const auto line = [&](std::string_view name, std::string_view value) {
    Append(text, "  ", Padded(name, kNameWidth), value, "\n");
  };
  line("level", absl::AsciiStrToLower(v1::Level_Name(facts.level())));
  line("category", absl::AsciiStrToLower(v1::Category_Name(facts.category())));
  line("aimed at", facts.role());
  line("reversal", absl::AsciiStrToLower(v1::Reversal_Name(facts.reversal())));
  line("tier", absl::AsciiStrToLower(v1::Tier_Name(facts.tier())));
  line("privileges", absl::StrJoin(facts.privileges(), "; "));
  line("landed when", facts.proof());
  if (row.parameters->field_count() == 0) return text + "\nIt takes no parameters.\n";
  return Cat(text, "\nParameters (`with`):\n", FieldTable(row.parameters));
}

std::string ExplainRoot() {
  std::string text = "Documents (`triodrill explain drill`, `triodrill explain drill.spec.faults`):\n";
  for (const Descriptor* type : DocumentTypes()) {
    Append(text, "  ", Padded(absl::AsciiStrToLower(type->name()), kNameWidth),
           type->options().GetExtension(v1::explain), "\n");
  }
  return Cat(text, "\nFaults (`triodrill explain process.kill`):\n", Kinds());
}

std::string ExplainDocument(const Descriptor* type) {
  return Cat(absl::AsciiStrToLower(type->name()), ": apiVersion: triodrill/v1, kind: ", type->name(), "\n  ",
             type->options().GetExtension(v1::explain), "\n\n", FieldTable(type));
}

std::string ExplainField(std::string_view path, const FieldDescriptor* field) {
  std::string text = Cat(path, ": ", Facts(field), "\n  ", AboutOf(field).doc(), "\n");
  if (IsParameters(field)) return Cat(text, "\nOne of, as `inject` says:\n", Kinds());
  if (field->message_type() != nullptr && !IsDuration(field)) {
    Append(text, "\n", FieldTable(field->message_type()));
  }
  return text;
}

// "faults[0]" -> "faults"
std::string WithoutIndex(std::string_view part) { return std::string(part.substr(0, part.find('['))); }

Result<std::string> Unknown(std::string_view path, std::string_view part, const std::vector<std::string>& known) {
  return absl::NotFoundError(Cat("explain ", Quoted(path), ": no ", Quoted(part), "; ", SuggestFrom(part, known)));
}

}  // namespace

Result<std::string> Explain(std::string_view path) {
  if (path.empty()) return ExplainRoot();
  if (const FaultRow* row = FindFaultRow(path)) return ExplainFault(*row);
  const std::vector<std::string> parts = absl::StrSplit(View(path), '.');
  const Descriptor* type = FindDocumentType(parts[0]);
  if (type == nullptr) {
    std::vector<std::string> known;
    for (const Descriptor* document : DocumentTypes()) known.push_back(absl::AsciiStrToLower(document->name()));
    for (const FaultRow& row : FaultCatalogue()) known.push_back(row.kind);
    return Unknown(path, path, known);
  }
  const FieldDescriptor* field = nullptr;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (field != nullptr && IsParameters(field)) break;
    const std::string name = WithoutIndex(parts[i]);
    std::vector<std::string> known;
    for (int f = 0; type != nullptr && f < type->field_count(); ++f) known.push_back(type->field(f)->name());
    const FieldDescriptor* next = type == nullptr ? nullptr : type->FindFieldByName(name);
    if (next == nullptr) return Unknown(path, name, known);
    field = next;
    type = IsDuration(field) ? nullptr : field->message_type();
  }
  return field == nullptr ? ExplainDocument(type) : ExplainField(path, field);
}

std::string ExplainFaults() {
  std::string text = Cat(Padded("KIND", 21), Padded("AIMED AT", 10), Padded("LEVEL", 11), Padded("CATEGORY", 10),
                         Padded("REVERSAL", 10), Padded("TIER", 9), "WHAT IT DOES\n");
  for (const FaultRow& row : FaultCatalogue()) {
    const v1::FaultFacts& facts = row.facts;
    Append(text, Padded(row.kind, 21), Padded(facts.role(), 10),
           Padded(absl::AsciiStrToLower(v1::Level_Name(facts.level())), 11),
           Padded(absl::AsciiStrToLower(v1::Category_Name(facts.category())), 10),
           Padded(absl::AsciiStrToLower(v1::Reversal_Name(facts.reversal())), 10),
           Padded(absl::AsciiStrToLower(v1::Tier_Name(facts.tier())), 9), facts.doc(), "\n");
  }
  return text;
}

}  // namespace triodrill
