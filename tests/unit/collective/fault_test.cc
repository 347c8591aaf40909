// The four faults on collectives, on a job that runs under the shim.
#include "injectors/collective/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "injectors/collective/order.h"
#include "injectors/os/clock.h"
#include "tests/unit/collective/ranks.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::JobShape;
using testing::Ranks;

std::string Message(const Status& status) { return std::string(status.message()); }

v1::UndoRecord Prepared(Injector& injector, const v1::AimedFault& fault) {
  auto record = injector.Prepare(fault);
  EXPECT_TRUE(record.ok()) << record.status();
  if (!record.ok()) return {};
  record->set_max_hold_ns(Nanos(std::chrono::minutes(2)).count());
  return *record;
}

Presence Seen(Injector& injector, const v1::UndoRecord& record) {
  const auto effect = injector.Inspect(record);
  EXPECT_TRUE(effect.ok()) << effect.status();
  return effect.ok() ? effect->presence : Presence::kForeign;
}

void ExpectLanded(Injector& injector, const v1::UndoRecord& record) {
  EXPECT_TRUE(Eventually([&] { return Seen(injector, record) == Presence::kPresent; }))
      << injector.Inspect(record)->evidence;
}

void ExpectUndone(Injector& injector, const v1::UndoRecord& record, const Ranks& job, int rank) {
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(injector.Revert(record), Ok());
    EXPECT_EQ(Seen(injector, record), Presence::kAbsent);
  }
  EXPECT_EQ(job.Page(rank)->FreeRules(), 8);
}

class Looping {
 public:
  explicit Looping(const JobShape& shape = {}) : job(shape) {
    if (job.trouble().empty()) job.TellAll("loop");
  }
  Ranks job;
};

TEST(Collective, CorruptsOneRankWhichWritesDownTheBits) {
  Looping looping;
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveCorrupt();
  v1::AimedFault fault = Aim("collective.corrupt", looping.job.identity(2));
  v1::CollectiveCorrupt& with = *fault.mutable_with()->mutable_collective_corrupt();
  with.mutable_calls()->set_operation(v1::NCCL_ALL_REDUCE);
  with.set_elements(v1::CORRUPTED_ELEMENTS_RUN);
  with.set_index(5);
  with.set_bits(v1::CORRUPTED_BITS_SIGN);
  with.set_bit(0);
  const v1::UndoRecord record = Prepared(*injector, fault);
  EXPECT_GT(record.collective().calls(), 0u);
  EXPECT_EQ(Seen(*injector, record), Presence::kAbsent);
  ASSERT_EQ(injector->Apply(record), Ok());
  ExpectLanded(*injector, record);
  EXPECT_THAT(injector->Inspect(record)->evidence, HasSubstr("element 5 was"));
  const ShimPage::RuleLook look = looping.job.Page(2)->Look(record.collective().token());
  EXPECT_EQ(look.before ^ look.after, 0x80000000u);
  EXPECT_EQ(look.changed, 1u);
  for (const int other : {0, 1, 3}) EXPECT_EQ(looping.job.Page(other)->FreeRules(), 8) << other;
  ExpectUndone(*injector, record, looping.job, 2);
}

TEST(Collective, DelaysEveryCallUntilItIsUndone) {
  Looping looping;
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveDelay();
  v1::AimedFault fault = Aim("collective.delay", looping.job.identity(1));
  fault.mutable_with()->mutable_collective_delay()->mutable_calls()->set_every(1);
  const v1::UndoRecord record = Prepared(*injector, fault);
  ASSERT_EQ(injector->Apply(record), Ok());
  ExpectLanded(*injector, record);
  EXPECT_TRUE(Eventually([&] { return looping.job.Page(1)->Look(record.collective().token()).acted >= 5; }));
  ExpectUndone(*injector, record, looping.job, 1);
}

TEST(Collective, HangsUntilItIsUndoneAndGoesOn) {
  Looping looping;
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveHang();
  const v1::UndoRecord record = Prepared(*injector, Aim("collective.hang", looping.job.identity(3)));
  ASSERT_EQ(injector->Apply(record), Ok());
  ExpectLanded(*injector, record);
  EXPECT_THAT(injector->Inspect(record)->evidence, HasSubstr("1 held now"));
  const auto held = looping.job.Page(3)->Calls();
  ExpectUndone(*injector, record, looping.job, 3);
  EXPECT_TRUE(Eventually([&] { return looping.job.Page(3)->Calls() != held; }));
}

TEST(Collective, IsNoLongerThereWhenAHangEndedByItself) {
  Looping looping;
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveHang();
  v1::UndoRecord record = Prepared(*injector, Aim("collective.hang", looping.job.identity(0)));
  record.set_expires_boottime_ns(Nanos(SinceBoot() + std::chrono::milliseconds(300)).count());
  ASSERT_EQ(injector->Apply(record), Ok());
  EXPECT_TRUE(Eventually([&] { return looping.job.Page(0)->Look(record.collective().token()).expired; }));
  EXPECT_TRUE(Eventually([&] { return Seen(*injector, record) == Presence::kAbsent; }));
  ExpectUndone(*injector, record, looping.job, 0);
}

TEST(Collective, LeavesACallOut) {
  Looping looping(JobShape{.ranks = 1});
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveDesync();
  const v1::UndoRecord record = Prepared(*injector, Aim("collective.desync", looping.job.identity(0)));
  ASSERT_EQ(injector->Apply(record), Ok());
  ExpectLanded(*injector, record);
  EXPECT_THAT(injector->Inspect(record)->evidence, HasSubstr("1 calls left out"));
  ExpectUndone(*injector, record, looping.job, 0);
}

// FIELD's third mistake: passed though nothing was injected.
TEST(Collective, IsRefusedWhereNoCallComesThrough) {
  Ranks idle;
  ASSERT_EQ(idle.trouble(), "");
  const auto injector = MakeCollectiveHang();
  EXPECT_THAT(Message(injector->Prepare(Aim("collective.hang", idle.identity(0))).status()),
              HasSubstr("no call of nccl came through"));
  Looping looping;
  v1::AimedFault fault = Aim("collective.hang", looping.job.identity(0));
  fault.mutable_with()->mutable_collective_hang()->mutable_calls()->set_operation(v1::NCCL_BROADCAST);
  EXPECT_THAT(Message(injector->Prepare(fault).status()), HasSubstr("no call of broadcast came through"));
}

TEST(Collective, IsRefusedWhereTheShimIsNotInTheWay) {
  const auto injector = MakeCollectiveDelay();
  JobShape shape;
  shape.ranks = 1;
  shape.preload = false;
  Looping bare(shape);
  ASSERT_EQ(bare.job.trouble(), "");
  EXPECT_THAT(Message(injector->Prepare(Aim("collective.delay", bare.job.identity(0))).status()),
              HasSubstr("LD_PRELOAD"));
  shape.preload = true;
  shape.program = TRIODRILL_RANK_STATIC;
  Looping linked(shape);
  ASSERT_EQ(linked.job.trouble(), "");
  EXPECT_THAT(Message(injector->Prepare(Aim("collective.delay", linked.job.identity(0))).status()),
              HasSubstr("linked statically"));
}

TEST(Collective, IsRefusedOnTheMemoryOfAGpuIfItCorrupts) {
  JobShape shape;
  shape.ranks = 1;
  shape.library = TRIODRILL_DEVICE_NCCL_DIR;
  Looping looping(shape);
  ASSERT_EQ(looping.job.trouble(), "");
  EXPECT_THAT(Message(MakeCollectiveCorrupt()->Prepare(Aim("collective.corrupt", looping.job.identity(0))).status()),
              HasSubstr("memory of a GPU"));
  const auto injector = MakeCollectiveDelay();
  const v1::UndoRecord record = Prepared(*injector, Aim("collective.delay", looping.job.identity(0)));
  ASSERT_EQ(injector->Apply(record), Ok());
  ExpectLanded(*injector, record);
  ExpectUndone(*injector, record, looping.job, 0);
}

TEST(Collective, IsRefusedWithABitThatNoTypeHas) {
  v1::Parameters with;
  with.mutable_collective_corrupt()->set_bits(v1::CORRUPTED_BITS_SIGN);
  with.mutable_collective_corrupt()->set_bit(1);
  EXPECT_TRUE(absl::IsInvalidArgument(collective::OrderFrom(with, 1).status()));
  with.mutable_collective_corrupt()->set_bit(0);
  EXPECT_TRUE(collective::OrderFrom(with, 1).ok());
}

TEST(Collective, IsSettledWhenTheJobHasEnded) {
  const auto injector = MakeCollectiveHang();
  v1::UndoRecord record;
  {
    Looping looping(JobShape{.ranks = 1});
    ASSERT_EQ(looping.job.trouble(), "");
    record = Prepared(*injector, Aim("collective.hang", looping.job.identity(0)));
    ASSERT_EQ(injector->Apply(record), Ok());
    ExpectLanded(*injector, record);
  }
  EXPECT_EQ(injector->Revert(record), Ok());
  EXPECT_EQ(Seen(*injector, record), Presence::kAbsent);
}

TEST(Collective, DrawsOthersInEachTrialAndTheSameAgain) {
  Looping looping(JobShape{.ranks = 1});
  ASSERT_EQ(looping.job.trouble(), "");
  const auto injector = MakeCollectiveCorrupt();
  const auto seed = [&](const char* shot) {
    return Prepared(*injector, Aim("collective.corrupt", looping.job.identity(0), shot)).collective().seed();
  };
  EXPECT_EQ(seed("1.a.0"), seed("1.a.0"));
  EXPECT_NE(seed("1.a.0"), seed("2.a.0"));
}

}  // namespace
}  // namespace triodrill
