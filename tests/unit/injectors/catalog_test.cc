#include "injectors/catalog.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <set>
#include <string>

#include "injectors/cpu/leak_order.h"
#include "injectors/cpu/stutter_order.h"
#include "injectors/gpu/wave_order.h"
#include "injectors/journal/settle.h"
#include "injectors/link/flap_order.h"
#include "injectors/process/crash_loop_order.h"
#include "injectors/storage/overlay_order.h"
#include "tests/unit/injectors/child.h"
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

// A helper that holds a fault is never the target of another: killing or stopping it would be an undo of our own
// making.
TEST(Catalog, NeverAimsAtAHelperByWhateverNameItShows) {
  const testing::Child other = testing::Child::Idle();
  EXPECT_TRUE(CheckMayBeTarget(other.identity()).ok());
  for (const std::string_view counting :
       {kStutterCycles, kLeakPieces, kCrashLoopCount, kFlapCount, kWaveCount, kOverlayCount}) {
    const std::string name = std::string(counting) + "12";
    const testing::Child helper([&] {
      ::prctl(PR_SET_NAME, name.c_str());
      while (true) ::pause();
    });
    EXPECT_TRUE(testing::Eventually([&] { return !CheckMayBeTarget(helper.identity()).ok(); })) << name;
  }
  for (const std::string_view program :
       {kStutterProgram, kLeakProgram, kCrashLoopProgram, kFlapProgram, kWaveProgram, kOverlayProgram}) {
    const std::string name(program);
    const testing::Child helper([&] {
      ::prctl(PR_SET_NAME, name.c_str());
      while (true) ::pause();
    });
    EXPECT_TRUE(testing::Eventually([&] { return !CheckMayBeTarget(helper.identity()).ok(); })) << name;
  }
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
