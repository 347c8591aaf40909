// gpu.hang on a process that computes on a shadow GPU: the job's own library launches the kernel, through the stand-in
// of the CUDA driver.
#include "injectors/gpu/hang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "injectors/os/clock.h"
#include "injectors/tensor/workload_page.h"
#include "tests/unit/injectors/gpu_training.h"
#include "tests/unit/injectors/shadow_gpu.h"
#include "tests/unit/injectors/training.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using testing::GpuTraining;
using ::testing::HasSubstr;
using testing::ShadowGpus;
using testing::Training;

std::string Message(const Status& status) { return std::string(status.message()); }

class Hang : public ::testing::Test {
 protected:
  v1::UndoRecord Prepared(const Child& child, Nanos hold = std::chrono::seconds(60)) {
    auto record = injector_->Prepare(Aim("gpu.hang", child.identity()));
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(hold.count());
    return *record;
  }
  Presence Look(const v1::UndoRecord& record) {
    const auto effect = injector_->Inspect(record);
    EXPECT_TRUE(effect.ok()) << effect.status();
    return effect.ok() ? effect->presence : Presence::kForeign;
  }
  static int FreeRules(const Child& child) {
    const auto process = ProcessHandle::Open(child.identity());
    const auto page = process.ok() ? WorkloadPage::Open(*process) : Result<WorkloadPage>(process.status());
    return page.ok() ? page->FreeRules() : -1;
  }

  const ShadowGpus gpus_;
  const std::unique_ptr<Injector> injector_ = MakeGpuHang();
};

TEST_F(Hang, HoldsTheGpuWorkWhileTheThreadsLiveOn) {
  const GpuTraining job(gpus_.cuda());
  ASSERT_GT(job.steps(), 0u);
  const v1::UndoRecord record = Prepared(job.child());
  EXPECT_EQ(Look(record), Presence::kAbsent);
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(Eventually([&] { return Look(record) == Presence::kPresent; })) << injector_->Inspect(record)->evidence;
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("spins on the process's default stream"));
  const uint64_t steps = job.steps();
  const uint64_t beats = job.beats();
  ASSERT_TRUE(Eventually([&] { return job.beats() > beats + 100; })) << "its threads live on";
  EXPECT_EQ(job.steps(), steps);
  ASSERT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(Look(record), Presence::kAbsent);
  EXPECT_TRUE(Eventually([&] { return job.steps() > steps + 10; })) << "the work goes on";
  EXPECT_EQ(FreeRules(job.child()), 8);
  EXPECT_TRUE(injector_->Revert(record).ok()) << "any number of times";
}

TEST_F(Hang, CanBeDoneAgainToTheSameProcess) {
  const GpuTraining job(gpus_.cuda());
  for (int i = 0; i < 3; ++i) {
    const v1::UndoRecord record = Prepared(job.child());
    ASSERT_TRUE(injector_->Apply(record).ok());
    ASSERT_TRUE(Eventually([&] { return Look(record) == Presence::kPresent; })) << injector_->Inspect(record)->evidence;
    ASSERT_TRUE(injector_->Revert(record).ok());
  }
}

TEST_F(Hang, EndsByItsOwnWatchdogWhenNobodyWithdrawsIt) {
  const GpuTraining job(gpus_.cuda());
  const v1::UndoRecord record = Prepared(job.child(), std::chrono::milliseconds(300));
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(Eventually([&] { return Look(record) == Presence::kPresent; })) << injector_->Inspect(record)->evidence;
  ASSERT_TRUE(Eventually([&] { return Look(record) == Presence::kAbsent; }));
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("its time was up"));
  const uint64_t steps = job.steps();
  EXPECT_TRUE(Eventually([&] { return job.steps() > steps; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Hang, EndsWithTheProcess) {
  const GpuTraining job(gpus_.cuda());
  const v1::UndoRecord record = Prepared(job.child());
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(Eventually([&] { return Look(record) == Presence::kPresent; }));
  job.child().Kill();
  EXPECT_TRUE(Eventually([&] { return Look(record) == Presence::kAbsent; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Hang, DoesNotLandWithoutAContext) {
  const GpuTraining job(gpus_.cuda(), false);
  const v1::UndoRecord record = Prepared(job.child());
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] {
    const auto effect = injector_->Inspect(record);
    return effect.ok() && effect->evidence.find("has no context on a GPU") != std::string::npos;
  })) << injector_->Inspect(record)->evidence;
  EXPECT_EQ(Look(record), Presence::kAbsent);
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Hang, RefusesWithTheReason) {
  const Child training = Training();
  v1::AimedFault fault = Aim("gpu.hang", training.identity());
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("knows no phase 'compute'"));
  fault.mutable_with()->mutable_gpu_hang()->set_phase("reduced");
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("has loaded no CUDA driver"));
  const Child idle = Child::Idle();
  EXPECT_THAT(Message(injector_->Prepare(Aim("gpu.hang", idle.identity())).status()), HasSubstr("it has none"));
}

}  // namespace
}  // namespace triodrill
