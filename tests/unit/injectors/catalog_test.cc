#include "injectors/catalog.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "injectors/journal/settle.h"
#include "triodrill/v1/faults.pb.h"

namespace triodrill {
namespace {

TEST(Catalog, HoldsExactlyTheFaultsOfTheSchema) {
  std::set<std::string> written;
  const auto* parameters = v1::Parameters::descriptor();
  for (int i = 0; i < parameters->field_count(); ++i) {
    const v1::FaultFacts& facts = parameters->field(i)->message_type()->options().GetExtension(v1::fault);
    std::string field = parameters->field(i)->name();
    EXPECT_EQ(field.replace(field.find('_'), 1, "."), facts.kind());
    written.insert(facts.kind());
  }
  std::set<std::string> performed;
  for (const InjectorRow& row : Catalog()) performed.insert(std::string(row.kind));
  EXPECT_EQ(performed, written);
  EXPECT_EQ(performed.size(), Catalog().size());
}

TEST(Catalog, MakesAndProbesEachFaultUnderItsOwnName) {
  for (const InjectorRow& row : Catalog()) {
    EXPECT_NE(row.make(), nullptr);
    const v1::Capability capability = row.probe();
    EXPECT_EQ(capability.kind(), row.kind);
    EXPECT_FALSE(capability.reason().empty()) << row.kind << " says neither its means nor why not";
    EXPECT_EQ(FindInjector(row.kind), &row);
    EXPECT_NE(ReversalOf(row.kind), v1::REVERSAL_UNSPECIFIED);
  }
}

TEST(Catalog, HasNothingForAnUnknownKind) {
  EXPECT_EQ(FindInjector("node.explode"), nullptr);
  EXPECT_EQ(ReversalOf("node.explode"), v1::REVERSAL_UNSPECIFIED);
}

TEST(Catalog, RefusesATargetOfTheWrongKind) {
  v1::AimedFault fault;
  fault.set_shot("a");
  fault.set_run_id("r");
  fault.mutable_with()->mutable_cpu_throttle()->set_quota(20);
  for (const InjectorRow& row : Catalog()) {
    fault.set_kind(std::string(row.kind));
    EXPECT_FALSE(row.make()->Prepare(fault).ok()) << row.kind;
  }
}

}  // namespace
}  // namespace triodrill
