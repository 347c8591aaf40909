// The look at a GPU before its slot serves again.
#include "drills/shadow/pipeline/gpu_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shadow_pipeline/story.h"

namespace triodrill::shadow::pipeline {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const GpuLook kWell{.sm_mhz = 1980, .max_sm_mhz = 1980, .limit_mw = 700'000, .default_limit_mw = 700'000};

TEST(GpuCheck, PassesOneThatIsWellOrLowForNoFaultOfItsOwn) {
  EXPECT_EQ(WhySick(kWell), "");
  GpuLook idle = kWell;
  idle.sm_mhz = 345;
  idle.reasons = 0x1;
  EXPECT_EQ(WhySick(idle), "");
  idle.reasons = 0x4;
  EXPECT_EQ(WhySick(idle), "") << "at its default limit the load is what lowers it";
}

TEST(GpuCheck, SaysWhyOneIsSick) {
  const auto with = [](auto change) {
    GpuLook look = kWell;
    change(look);
    return WhySick(look);
  };
  EXPECT_EQ(with([](GpuLook& look) { look.sm_mhz = 600; }), "SM clock 600 of 1980 MHz, reasons 0");
  EXPECT_THAT(with([](GpuLook& look) { look.sm_mhz = 990, look.reasons = 0x48; }), HasSubstr("reasons 0x48"));
  EXPECT_THAT(with([](GpuLook& look) { look.limit_mw = 350'000; }), HasSubstr("power limit 350 W"));
  EXPECT_THAT(with([](GpuLook& look) { look.lost = true; }), HasSubstr("fallen off the bus"));
  EXPECT_THAT(with([](GpuLook& look) { look.uncorrectable_ecc = 2; }), HasSubstr("2 uncorrectable"));
  EXPECT_THAT(with([](GpuLook& look) { look.remap_pending = 1; }), HasSubstr("reset"));
  EXPECT_THAT(with([](GpuLook& look) { look.remap_failed = 1; }), HasSubstr("remapped"));
  EXPECT_THAT(WhyGpuIsSick("libnvidia-ml-that-is-nowhere.so.1", 0), HasSubstr("cannot be looked at"));
}

TEST(Quarantine, LooksAtTheSlotsOwnGpuAndKeepsItOutUntilItIsWell) {
  Story story;
  story.Train();
  story.PauseRank(5);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  story.checks_pass = false;
  story.checks.clear();
  story.Pass(seconds(20));
  EXPECT_THAT(story.Lines("returned"), IsEmpty());
  EXPECT_GT(story.Lines("kept_out").size(), 2U) << story.All();
  ASSERT_FALSE(story.checks.empty());
  for (const RunCheck& check : story.checks) EXPECT_EQ(check.gpu, 1) << "of slot n2/1";
  story.checks_pass = true;
  EXPECT_TRUE(story.Until("returned slot=n2/1", seconds(10))) << story.All();
}

TEST(Replacement, ASpareWithASickGpuIsPassedOverAndItsNeighbourIsNot) {
  Story story;
  story.Train();
  story.sick_gpus.insert(Slot{"s0", 0});
  story.PauseRank(4);
  ASSERT_TRUE(story.Until("restored step=30 epoch=2", seconds(10))) << story.All();
  EXPECT_THAT(story.Lines("self_checked"), ElementsAre(HasSubstr("bad=s0/0")));
  EXPECT_EQ((story.state.slots[Slot{"s0", 0}].service), Service::kIsolated);
  EXPECT_THAT(story.Lines("replaced"), ElementsAre(HasSubstr("slot=s0/1 rank=4")));
}

TEST(Isolation, ALostGpuIsNotRestartedOn) {
  Story story;
  story.Train();
  const Slot slot{"n2", 0};
  story.Give(ErrorLine{slot, story.state.slots[slot].trainer.incarnation,
                       "rank 4: step 31: GPU 0 is lost: it has fallen off the bus"});
  story.KillRank(4);
  ASSERT_TRUE(story.Until("replaced", seconds(5))) << story.All();
  EXPECT_THAT(story.Lines("isolated"), ElementsAre(HasSubstr("slot=n2/0 level=gpu")));
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
