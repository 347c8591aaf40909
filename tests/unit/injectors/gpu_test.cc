// The GPU faults on shadow GPUs, through their stand-in of NVML: loaded by name, as the vendor's would be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "drills/shadow/gpu/nvml_abi.h"
#include "injectors/environment/drift.h"
#include "injectors/gpu/clock_lock.h"
#include "injectors/gpu/lost.h"
#include "injectors/gpu/power_cap.h"
#include "injectors/gpu/sm_clock.h"
#include "injectors/gpu/wave_order.h"
#include "injectors/journal/journal.h"
#include "injectors/process/helper.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"

namespace triodrill {
namespace {

namespace theirs = shadow::gpu::nvml;
using shadow::gpu::GpuDir;
using shadow::gpu::MappedState;
using testing::Aim;
using ::testing::AllOf;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::RunProgram;
using testing::TemporaryDirectory;

static_assert(static_cast<int>(nvml::kSuccess) == theirs::kSuccess);
static_assert(static_cast<int>(nvml::kUninitialized) == theirs::kUninitialized);
static_assert(static_cast<int>(nvml::kInvalidArgument) == theirs::kInvalidArgument);
static_assert(static_cast<int>(nvml::kNotSupported) == theirs::kNotSupported);
static_assert(static_cast<int>(nvml::kNoPermission) == theirs::kNoPermission);
static_assert(static_cast<int>(nvml::kNotFound) == theirs::kNotFound);
static_assert(static_cast<int>(nvml::kInsufficientSize) == theirs::kInsufficientSize);
static_assert(static_cast<int>(nvml::kDriverNotLoaded) == theirs::kDriverNotLoaded);
static_assert(static_cast<int>(nvml::kFunctionNotFound) == theirs::kFunctionNotFound);
static_assert(static_cast<int>(nvml::kGpuIsLost) == theirs::kGpuIsLost);
static_assert(static_cast<unsigned>(nvml::kClockSm) == theirs::kClockSm);
static_assert(static_cast<unsigned>(nvml::kClockMemory) == theirs::kClockMemory);
static_assert(static_cast<unsigned>(nvml::kGpuIdle) == theirs::kGpuIdle);
static_assert(static_cast<unsigned>(nvml::kApplicationsClocks) == theirs::kApplicationsClocks);
static_assert(static_cast<unsigned>(nvml::kSwPowerCap) == theirs::kSwPowerCap);
static_assert(sizeof(nvml::ProcessInfo) == sizeof(theirs::ProcessInfo));

std::string Message(const Status& status) { return std::string(status.message()); }

// A process that holds GPU 1 of two, until its end.
Child Computing(const std::string& file) {
  return Child([file] {
    const auto held = shadow::gpu::HeldGpu::Open(file, 1);
    while (held.ok()) ::pause();
  });
}

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TRIODRILL_SHADOW_GPU_STATE", gpus_.file().c_str(), 1);
    SetNvmlLibrary(TRIODRILL_SHADOW_NVML);
    ASSERT_TRUE(Eventually([&] { return gpu().processes[0] != 0; }));
  }
  void TearDown() override { ::unsetenv("TRIODRILL_SHADOW_GPU_STATE"); }

  shadow::gpu::Gpu& gpu() const { return (*state_)->gpus[1]; }
  v1::UndoRecord Prepared(Injector& injector, const v1::AimedFault& fault) const {
    const auto record = injector.Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : v1::UndoRecord();
  }
  v1::AimedFault Fault(const std::string& kind) const { return Aim(kind, child_.identity()); }

  const GpuDir gpus_;
  const Child child_ = Computing(gpus_.file());
  const Result<MappedState> state_ = MappedState::Open(gpus_.file(), true);
  const std::unique_ptr<Injector> lock_ = MakeGpuClockLock();
  const std::unique_ptr<Injector> cap_ = MakeGpuPowerCap();
  const std::unique_ptr<Injector> lost_ = MakeGpuLost();
};

TEST(LockSeen, IsOursOnlyWhereNothingElseExplainsTheClock) {
  const auto seen = [](uint32_t now, uint64_t reasons) { return LookForLock({now, 1980, reasons}, 780, 780); };
  EXPECT_EQ(seen(780, 0), LockSeen::kOurs);
  EXPECT_EQ(seen(795, nvml::kApplicationsClocks), LockSeen::kOurs);
  EXPECT_EQ(seen(1980, 0), LockSeen::kFree);
  EXPECT_EQ(seen(1500, nvml::kSwPowerCap), LockSeen::kFree) << "a lock would hold it lower";
  EXPECT_EQ(seen(345, nvml::kGpuIdle), LockSeen::kFree) << "ours pins it from below, too";
  EXPECT_EQ(seen(1500, 0), LockSeen::kForeign);
  EXPECT_EQ(seen(600, 0), LockSeen::kForeign);
  EXPECT_EQ(seen(780, 0x40), LockSeen::kUnclear);
  EXPECT_EQ(seen(390, nvml::kSwPowerCap), LockSeen::kUnclear);
}

TEST(LockSeen, OfADriftIsOursAnywhereOnTheWay) {
  const auto seen = [](uint32_t now, uint64_t reasons) { return LookForLock({now, 1980, reasons}, 1875, 1980); };
  EXPECT_EQ(seen(1980, 0), LockSeen::kFree);
  EXPECT_EQ(seen(1935, 0), LockSeen::kOurs);
  EXPECT_EQ(seen(1875, 0), LockSeen::kOurs);
  EXPECT_EQ(seen(1935, nvml::kSwPowerCap), LockSeen::kUnclear);
  EXPECT_EQ(seen(1200, 0), LockSeen::kForeign);
  EXPECT_EQ(seen(1200, nvml::kGpuIdle), LockSeen::kFree);
}

TEST(ClockAt, FallsAndRisesBetweenTheTwoAndBeginsHalfWay) {
  WaveOrder order;
  order.lowest_mhz = 1880;
  order.highest_mhz = 1980;
  order.wave = std::chrono::seconds(8);
  const auto at = [&](int seconds) { return ClockAt(order, std::chrono::seconds(seconds)); };
  EXPECT_EQ(at(0), 1930U);
  EXPECT_EQ(at(2), 1880U);
  EXPECT_EQ(at(6), 1980U);
  EXPECT_EQ(at(10), at(2));
}

TEST(WaveOrder, SurvivesTheCommandLine) {
  WaveOrder order;
  order.common.token = "run/1.a.0/GPU-1";
  order.common.parent.set_pid(5);
  order.common.parent.set_start_time_ticks(6);
  order.common.parent.set_pid_namespace_inode(7);
  order.common.until = std::chrono::seconds(8);
  order.library = "/somewhere/libnvidia-ml.so.1";
  order.uuid = "GPU-1";
  order.lowest_mhz = 1875;
  order.highest_mhz = 1980;
  order.wave = std::chrono::seconds(9);
  std::vector<std::string> arguments = HelperArguments("p", order.common);
  for (const std::string& more : WaveArguments(order)) arguments.push_back(more);
  const auto parsed = ParseWaveArguments(arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(WaveArguments(*parsed), WaveArguments(order));
  EXPECT_EQ(parsed->common.token, order.common.token);
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::vector<std::string> without = arguments;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWaveArguments(without).status())) << arguments[i];
  }
}

class GpuDriftTest : public Gpu {
 protected:
  v1::UndoRecord PreparedDrift(const std::string& by = "") const {
    v1::AimedFault fault = Fault("environment.drift");
    fault.mutable_with()->mutable_environment_drift()->set_by(by);
    v1::UndoRecord record = Prepared(*drift_, fault);
    record.set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
    return record;
  }
  const std::unique_ptr<Injector> drift_ =
      MakeEnvironmentDrift({TRIODRILL_BIN_DIR "/triodrill-stutter", TRIODRILL_BIN_DIR "/triodrill-clockwave"});
};

TEST_F(GpuDriftTest, WavesTheClockAndResetsIt) {
  const v1::UndoRecord record = PreparedDrift();
  ASSERT_TRUE(record.has_gpu());
  EXPECT_EQ(record.gpu().ours(), 1875U) << "5% lower, at a clock that it knows";
  EXPECT_EQ(gpu().locked_sm, 0U) << "preparing changes nothing";
  EXPECT_EQ(drift_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = drift_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  const auto effect = drift_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kPresent);
  EXPECT_THAT(effect->evidence, HasSubstr("between 1875 and 1980 MHz"));
  const uint64_t first = gpu().locked_sm;
  EXPECT_TRUE(Eventually([&] { return gpu().locked_sm != first; })) << "a wave, not a lock";
  EXPECT_EQ((*state_)->gpus[0].locked_sm, 0U) << "nobody else's";
  for (int again = 0; again < 2; ++again) {
    const Status reverted = drift_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(drift_->Inspect(record)->presence, Presence::kAbsent);
    EXPECT_EQ(gpu().locked_sm, 0U);
  }
}

TEST_F(GpuDriftTest, ItsLastLockIsUndoneWhenItsProgramIsKilled) {
  const v1::UndoRecord record = PreparedDrift();
  ASSERT_TRUE(drift_->Apply(record).ok());
  const auto programs =
      Helper(kWaveProgram, kWaveCount, TRIODRILL_BIN_DIR "/triodrill-clockwave").Find(record.gpu().token());
  ASSERT_TRUE(programs.ok() && programs->size() == 1);
  // At a clock that can be told from the highest.
  ASSERT_TRUE(Eventually([&] { return shadow::gpu::HighOf(gpu().locked_sm) <= 1935 && gpu().locked_sm != 0; }));
  ASSERT_TRUE(programs->front().Signal(SIGKILL).ok());
  ASSERT_TRUE(Eventually([&] { return programs->front().Ended(); }));
  EXPECT_NE(gpu().locked_sm, 0U);
  const auto effect = drift_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kPresent) << effect->evidence;
  const Status reverted = drift_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(gpu().locked_sm, 0U);
}

TEST_F(GpuDriftTest, IsOfTheProcessWhereTheGpuIsNotItsOwnOrTheDrillSaysSo) {
  EXPECT_TRUE(PreparedDrift("clock").has_gpu());
  EXPECT_TRUE(PreparedDrift("stops").has_stutter());
  gpu().locked_sm = shadow::gpu::PackRange(600, 600);
  EXPECT_TRUE(PreparedDrift().has_stutter());
  v1::AimedFault fault = Fault("environment.drift");
  fault.mutable_with()->mutable_environment_drift()->set_by("clock");
  EXPECT_THAT(Message(drift_->Prepare(fault).status()), HasSubstr("its clocks may be locked"));
  fault.mutable_with()->mutable_environment_drift()->set_by("luck");
  EXPECT_THAT(Message(drift_->Prepare(fault).status()), HasSubstr("auto, clock or stops"));
}

TEST_F(Gpu, ClockLockIsReadBackAndReset) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  EXPECT_EQ(record.gpu().uuid(), gpu().identity.uuid) << "the GPU that the process computes on";
  EXPECT_EQ(record.by_hand(), "nvidia-smi -i " + record.gpu().uuid() + " -rgc");
  EXPECT_EQ(gpu().locked_sm, 0U) << "preparing changes nothing";
  EXPECT_EQ(lock_->Inspect(record)->presence, Presence::kAbsent);
  ASSERT_TRUE(lock_->Apply(record).ok());
  const auto effect = lock_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kPresent);
  EXPECT_THAT(effect->evidence, HasSubstr("SM clock 780 of 1980 MHz, reasons 0"));
  EXPECT_EQ((*state_)->gpus[0].locked_sm, 0U) << "nobody else's";
  for (int again = 0; again < 2; ++again) {
    const Status reverted = lock_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(lock_->Inspect(record)->presence, Presence::kAbsent);
    EXPECT_EQ(gpu().locked_sm, 0U);
  }
}

TEST_F(Gpu, ClockLockIsRefusedUnlessTheBaselineIsKnownClean) {
  gpu().locked_sm = shadow::gpu::PackRange(600, 600);
  v1::AimedFault fault = Fault("gpu.clock_lock");
  EXPECT_THAT(Message(lock_->Prepare(fault).status()), HasSubstr("SM clock 600 of 1980 MHz, reasons 0"));
  fault.mutable_with()->mutable_gpu_clock_lock()->set_unlocked(true);
  EXPECT_THAT(Message(lock_->Prepare(fault).status()), HasSubstr("-rgc")) << "nothing explains it: no word helps";
  gpu().locked_sm = 0;
  gpus_.Set(1, "sw_thermal=1");
  EXPECT_TRUE(lock_->Prepare(fault).ok()) << "heat explains it, and somebody knows that no lock is under it";
  fault.mutable_with()->mutable_gpu_clock_lock()->set_unlocked(false);
  EXPECT_THAT(Message(lock_->Prepare(fault).status()), HasSubstr("unlocked: true"));
}

TEST_F(Gpu, ALockThatSomebodyElseMadeMeanwhileIsLeft) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  ASSERT_TRUE(lock_->Apply(record).ok());
  gpu().locked_sm = shadow::gpu::PackRange(210, 1200);
  EXPECT_TRUE(lock_->Revert(record).ok());
  EXPECT_EQ(gpu().locked_sm, shadow::gpu::PackRange(210, 1200));
  const auto effect = lock_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kForeign);
  EXPECT_THAT(effect->evidence, HasSubstr("SM clock 1200 of 1980 MHz"));
}

TEST_F(Gpu, ALockUnderHeatIsNotCalledGone) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  ASSERT_TRUE(lock_->Apply(record).ok());
  gpus_.Set(1, "hw_thermal=1");
  EXPECT_TRUE(absl::IsUnavailable(lock_->Inspect(record).status())) << lock_->Inspect(record).status();
  gpus_.Set(1, "hw_thermal=0");
  ASSERT_TRUE(lock_->Revert(record).ok());
  EXPECT_EQ(lock_->Inspect(record)->presence, Presence::kAbsent);
}

TEST_F(Gpu, ClockLockIsUndoneWhenItsProcessIsDead) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  ASSERT_TRUE(lock_->Apply(record).ok());
  child_.Kill();
  const Status reverted = lock_->Revert(record);
  EXPECT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(gpu().locked_sm, 0U);
}

TEST_F(Gpu, PowerCapGivesThePriorLimitBackNotTheDefault) {
  gpu().limit_mw = 680'000;
  const v1::UndoRecord record = Prepared(*cap_, Fault("gpu.power_cap"));
  ASSERT_TRUE(cap_->Apply(record).ok());
  EXPECT_EQ(gpu().limit_mw, 350'000U);
  const auto effect = cap_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kPresent) << effect->evidence;
  EXPECT_THAT(effect->evidence, AllOf(HasSubstr("power limit 350.0 W"), HasSubstr("reasons 0x4")));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(cap_->Revert(record).ok());
    EXPECT_EQ(gpu().limit_mw, 680'000U);
    EXPECT_EQ(cap_->Inspect(record)->presence, Presence::kAbsent);
  }
}

TEST_F(Gpu, ALimitThatSomebodyElseSetMeanwhileIsLeft) {
  const v1::UndoRecord record = Prepared(*cap_, Fault("gpu.power_cap"));
  ASSERT_TRUE(cap_->Apply(record).ok());
  gpu().limit_mw = 500'000;
  EXPECT_TRUE(cap_->Revert(record).ok());
  EXPECT_EQ(gpu().limit_mw, 500'000U);
  EXPECT_EQ(cap_->Inspect(record)->presence, Presence::kForeign);
}

TEST_F(Gpu, ACapThatIsNotFeltHasNotLandedAndIsNotGoneEither) {
  v1::AimedFault fault = Fault("gpu.power_cap");
  fault.mutable_with()->mutable_gpu_power_cap()->set_limit(95);  // 665 W, and it draws 650
  const v1::UndoRecord record = Prepared(*cap_, fault);
  ASSERT_TRUE(cap_->Apply(record).ok());
  EXPECT_THAT(Message(cap_->Inspect(record).status()), HasSubstr("not felt"));
  ASSERT_TRUE(cap_->Revert(record).ok());
  EXPECT_EQ(cap_->Inspect(record)->presence, Presence::kAbsent);
  fault.mutable_with()->mutable_gpu_power_cap()->set_limit(10);
  EXPECT_THAT(Message(cap_->Prepare(fault).status()), HasSubstr("outside its bounds, 200.0~700.0 W"));
}

TEST_F(Gpu, AShadowGpuIsLostAndBack) {
  const v1::UndoRecord record = Prepared(*lost_, Fault("gpu.lost"));
  ASSERT_TRUE(lost_->Apply(record).ok());
  EXPECT_EQ(gpu().lost, 1U);
  EXPECT_EQ(gpu().xid.load() & 0xffffffff, 79U);
  EXPECT_EQ(lost_->Inspect(record)->presence, Presence::kPresent);
  ASSERT_TRUE(lost_->Revert(record).ok());
  EXPECT_EQ(gpu().lost, 0U);
  EXPECT_EQ(lost_->Inspect(record)->presence, Presence::kAbsent);
}

TEST_F(Gpu, AClockOfALostGpuIsNotCalledFree) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  gpus_.Set(1, "lost=1");
  EXPECT_TRUE(absl::IsUnavailable(lock_->Revert(record)));
  EXPECT_TRUE(absl::IsUnavailable(lock_->Inspect(record).status()));
}

TEST_F(Gpu, AProcessMustComputeOnOneGpuAlone) {
  const Child idle = Child::Idle();
  EXPECT_THAT(Message(lock_->Prepare(Aim("gpu.clock_lock", idle.identity())).status()),
              HasSubstr("it has a context on none of 2"));
  const Child other = Computing(gpus_.file());
  ASSERT_TRUE(Eventually([&] { return gpu().processes[1] != 0; }));
  EXPECT_THAT(Message(lock_->Prepare(Fault("gpu.clock_lock")).status()), HasSubstr("computes on GPU-"));
}

TEST_F(Gpu, ARefusalOfTheDriverIsTold) {
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  gpus_.Set(0, "driver.deny_set=1");
  EXPECT_TRUE(absl::IsPermissionDenied(lock_->Apply(record)));
  EXPECT_TRUE(absl::IsPermissionDenied(lock_->Revert(record)));
}

TEST_F(Gpu, AnOlderDriverIsAskedByTheOlderName) {
  gpus_.Set(0, "driver.old=1");
  const v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  ASSERT_TRUE(lock_->Apply(record).ok());
  EXPECT_EQ(lock_->Inspect(record)->presence, Presence::kPresent);
  EXPECT_TRUE(lock_->Revert(record).ok());
}

TEST_F(Gpu, OfAnEarlierBootIsOver) {
  v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(lock_->Revert(record).ok());
  EXPECT_THAT(lock_->Inspect(record)->evidence, HasSubstr("earlier boot"));
}

// The record names the library, and the library finds its state beside itself.
TEST_F(Gpu, IsUndoneFromTheRecordAloneByAFreshProcess) {
  const std::string link = gpus_.dir() + "/libnvidia-ml.so.1";
  std::filesystem::create_symlink(TRIODRILL_SHADOW_NVML, link);
  v1::UndoRecord record = Prepared(*lock_, Fault("gpu.clock_lock"));
  record.mutable_gpu()->set_library(link);
  const TemporaryDirectory directory;
  auto journal = UndoJournal::Open(directory.path());
  ASSERT_TRUE(journal.ok() && (*journal)->Record(record).ok());
  gpu().locked_sm = shadow::gpu::PackRange(record.gpu().ours(), record.gpu().ours());
  journal->reset();
  ::unsetenv("TRIODRILL_SHADOW_GPU_STATE");
  const auto undone = RunProgram({TRIODRILL_BIN_DIR "/triodrill-undo", "--journal", directory.path()});
  EXPECT_EQ(undone.code, 0) << undone.err;
  EXPECT_EQ(gpu().locked_sm, 0U);
}

TEST(GpuProbe, SaysWhatIsMissing) {
  SetNvmlLibrary("libnvidia-ml-that-is-nowhere.so.1");
  for (const v1::Capability& capability : {ProbeGpuClockLock(), ProbeGpuPowerCap(), ProbeGpuLost()}) {
    EXPECT_FALSE(capability.possible());
    EXPECT_THAT(capability.reason(), HasSubstr("load NVML: libnvidia-ml-that-is-nowhere.so.1"));
  }
  SetNvmlLibrary(TRIODRILL_SHADOW_NVML);  // and no state
  EXPECT_THAT(ProbeGpuClockLock().reason(), HasSubstr("the driver is not loaded"));
}

}  // namespace
}  // namespace triodrill
