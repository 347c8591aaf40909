#include "triodrill/schema/explain.h"

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/documents.h"
#include "triodrill/schema/walk.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

// Every message that can be reached from a document, parameters included.
std::vector<const Descriptor*> EveryType() {
  std::vector<const Descriptor*> types = DocumentTypes();
  for (size_t i = 0; i < types.size(); ++i) {
    for (int f = 0; f < types[i]->field_count(); ++f) {
      const FieldDescriptor* field = types[i]->field(f);
      const Descriptor* type = IsDuration(field) ? nullptr : field->message_type();
      if (type != nullptr && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
  }
  return types;
}

template <typename F>
void ForEveryField(F&& f) {
  for (const Descriptor* type : EveryType()) {
    if (type == v1::Parameters::descriptor()) continue;
    for (int i = 0; i < type->field_count(); ++i) f(type->field(i));
  }
}

std::vector<Diagnostic> ReadAs(const FieldDescriptor* field, const std::string& value) {
  std::vector<Diagnostic> problems;
  YamlNode node;
  Places places;
  if (!ParseTree(value, field->full_name(), node, problems)) return problems;
  std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(field->containing_type())->New());
  Walker(field->full_name(), places, problems).Field(node, field->name(), field, *message);
  return problems;
}

TEST(Schema, EveryFieldSaysWhatItIs) {
  ForEveryField([](const FieldDescriptor* field) { EXPECT_NE(AboutOf(field).doc(), "") << field->full_name(); });
}

TEST(Schema, EveryDefaultAndEveryExampleCanBeRead) {
  ForEveryField([](const FieldDescriptor* field) {
    const v1::About& about = AboutOf(field);
    if (!about.default_value().empty()) {
      EXPECT_EQ(Text(ReadAs(field, about.default_value())), "");
    }
    if (!about.example().empty()) {
      EXPECT_EQ(Text(ReadAs(field, about.example())), "");
    }
  });
}

TEST(Schema, BoundsAreInOrder) {
  ForEveryField([](const FieldDescriptor* field) {
    const v1::About& about = AboutOf(field);
    if (about.has_at_least() && about.has_at_most()) {
      EXPECT_LE(about.at_least(), about.at_most()) << field->full_name();
    }
  });
}

TEST(Catalogue, EveryFaultStatesItsFacts) {
  for (const FaultRow& row : FaultCatalogue()) {
    EXPECT_THAT(row.kind, HasSubstr("."));
    EXPECT_NE(row.facts.level(), v1::LEVEL_UNSPECIFIED) << row.kind;
    EXPECT_NE(row.facts.category(), v1::CATEGORY_UNSPECIFIED) << row.kind;
    EXPECT_NE(row.facts.reversal(), v1::REVERSAL_UNSPECIFIED) << row.kind;
    EXPECT_NE(row.facts.tier(), v1::TIER_UNSPECIFIED) << row.kind;
    EXPECT_FALSE(row.facts.privileges().empty()) << row.kind;
    EXPECT_NE(row.facts.doc(), "") << row.kind;
    EXPECT_NE(row.facts.proof(), "") << row.kind;
    EXPECT_TRUE(row.facts.role() == "rank" || row.facts.role() == "link") << row.kind;
    std::string name = row.kind;
    std::replace(name.begin(), name.end(), '.', '_');
    EXPECT_EQ(row.field->name(), name) << "the field is named after the kind";
    EXPECT_EQ(FindFaultRow(row.kind), &row) << "kinds are unique";
  }
}

TEST(Catalogue, ParametersKnowTheirKind) {
  v1::Parameters parameters;
  EXPECT_EQ(KindOf(parameters), "");
  EXPECT_EQ(SelectedParameters(parameters), nullptr);
  ASSERT_TRUE(SelectParameters("cpu.throttle", parameters));
  EXPECT_TRUE(parameters.has_cpu_throttle());
  EXPECT_EQ(KindOf(parameters), "cpu.throttle");
  EXPECT_EQ(SelectedParameters(parameters), &parameters.cpu_throttle());
  EXPECT_FALSE(SelectParameters("cpu.melt", parameters));
}

TEST(Catalogue, KnowsTheNearestKind) {
  EXPECT_EQ(NearestKind("proces.kil"), "process.kill");
  EXPECT_EQ(NearestKind("link_down"), "link.down");
  EXPECT_EQ(NearestKind("earthquake"), "");
}

TEST(Explain, ListsDocumentsAndFaults) {
  EXPECT_THAT(*Explain(""), AllOf(HasSubstr("drill"), HasSubstr("agentpolicy"), HasSubstr("process.kill")));
}

TEST(Explain, AFieldHasTypeRangeDefaultAndExample) {
  EXPECT_THAT(*Explain("drill.spec.trials.cooldown"),
              HasSubstr("a duration, 0s to 1d, default 5s\n  Quiet time after each trial."));
  EXPECT_THAT(*Explain("Drill.spec.faults[0].hold"), AllOf(HasSubstr("until"), HasSubstr("1ms to 1d, like 20s")));
  EXPECT_THAT(*Explain("drill.spec.faults.target.role"), HasSubstr("one of rank, link, required"));
  EXPECT_THAT(*Explain("drill.spec.faults.with"), HasSubstr("cpu.throttle"));
}

TEST(Explain, AFaultHasItsFactsAndParameters) {
  EXPECT_THAT(*Explain("cpu.throttle"),
              AllOf(HasSubstr("quota"), HasSubstr("1% to 400%"), HasSubstr("restore"), HasSubstr("nr_throttled")));
  EXPECT_THAT(*Explain("link.down"), HasSubstr("It takes no parameters."));
}

TEST(Explain, AnUnknownPathNamesTheNearest) {
  EXPECT_THAT(Explain("drill.spec.fault").status().message(), HasSubstr("did you mean `faults`?"));
  EXPECT_THAT(Explain("process.kil").status().message(), HasSubstr("did you mean `process.kill`?"));
  EXPECT_THAT(Explain("drill.metadata.name.x").status().message(), HasSubstr("no `x`"));
  EXPECT_FALSE(Explain(".").ok());
  EXPECT_FALSE(Explain("drill.").ok());
}

TEST(Explain, EveryFieldCanBeExplained) {
  for (const Descriptor* type : DocumentTypes()) {
    for (int i = 0; i < type->field_count(); ++i) {
      EXPECT_TRUE(Explain(type->name() + "." + type->field(i)->name()).ok());
    }
  }
}

TEST(Explain, TheFaultTableHasARowForEachFault) {
  for (const FaultRow& row : FaultCatalogue()) EXPECT_THAT(ExplainFaults(), HasSubstr(row.kind));
}

TEST(JsonSchemaOf, EachDocumentIsJsonWithEveryReferenceDefined) {
  for (const Descriptor* type : DocumentTypes()) {
    const std::string text = *JsonSchema(type->name());
    const Json schema = Json::parse(text);
    for (size_t at = text.find("#/$defs/"); at != std::string::npos; at = text.find("#/$defs/", at + 1)) {
      const std::string name = text.substr(at + 8, text.find('"', at) - at - 8);
      EXPECT_TRUE(schema["$defs"][name].is_object()) << name;
    }
    EXPECT_EQ(schema["properties"]["kind"]["const"], type->name());
    EXPECT_EQ(schema["additionalProperties"], false);
  }
}

TEST(JsonSchemaOf, ADrillChoosesTheParametersByTheFault) {
  const Json schema = Json::parse(*JsonSchema("drill"));
  EXPECT_EQ(schema["$defs"]["Fault"]["allOf"].size(), FaultCatalogue().size());
  EXPECT_EQ(schema["$defs"]["CpuThrottle"]["required"], Json::parse(R"(["quota"])"));
  EXPECT_EQ(schema["$defs"]["Target"]["properties"]["role"]["enum"], Json::parse(R"(["rank","link"])"));
}

TEST(JsonSchemaOf, AnUnknownKindIsRefused) {
  EXPECT_THAT(JsonSchema("Dril").status().message(), HasSubstr("did you mean `Drill`?"));
}

}  // namespace
}  // namespace triodrill
