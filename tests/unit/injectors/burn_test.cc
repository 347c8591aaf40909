// gpu.burn on a shadow GPU, through the stand-in of the CUDA driver: the real program, the real way to launch, and no
// kernel but a simulated one.
#include "injectors/gpu/burn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "injectors/gpu/burn_order.h"
#include "injectors/gpu/burner.h"
#include "injectors/gpu/cuda.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/shadow_gpu.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::ComputingOnGpu;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::ShadowGpus;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-burn";

std::string Message(const Status& status) { return std::string(status.message()); }

BurnOrder SomeOrder() {
  BurnOrder order;
  order.common = {"token", Aim("gpu.burn", IdentifyProcess(::getpid()).value()).target().process(), Nanos(5)};
  order.library = "/some where/libcuda.so.1";
  order.uuid = "GPU-1";
  order.multiprocessors = 0.255;
  order.duty = 0.4;
  order.period = std::chrono::milliseconds(20);
  return order;
}

TEST(BurnOrder, SurvivesItsArgumentVector) {
  const BurnOrder order = SomeOrder();
  std::vector<std::string> arguments = HelperArguments(kProgram, order.common);
  for (const std::string& one : BurnArguments(order)) arguments.push_back(one);
  const auto parsed = ParseBurnArguments(arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(BurnArguments(*parsed), BurnArguments(order));
  EXPECT_EQ(parsed->duty, order.duty);
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::vector<std::string> without = arguments;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(absl::IsInvalidArgument(ParseBurnArguments(without).status())) << arguments[i];
  }
  arguments.back() = "--bound=both";
  EXPECT_FALSE(ParseBurnArguments(arguments).ok());
}

TEST(BurnOrder, TakesWholeMultiprocessorsAndAShareOfThePeriod) {
  BurnOrder order = SomeOrder();
  EXPECT_EQ(BlocksOf(order, 132), 34) << "33.66";
  EXPECT_EQ(BlocksOf(order, 1), 1);
  order.multiprocessors = 1;
  EXPECT_EQ(BlocksOf(order, 132), 132);
  EXPECT_EQ(BoundsOf(order).busy_ns, 8'000'000u);
  EXPECT_EQ(BoundsOf(order).life_ns, 20'000'000u) << "the watchdog: a launch never outlives its period";
}

TEST(BurnAccount, CountsAMultiprocessorOnceAndOnlyIfItsBlockDidWork) {
  const auto block = [](uint64_t rounds, uint64_t busy, uint32_t launches, uint32_t where) {
    return kernels::BurnBlock{rounds, busy, launches, where};
  };
  const auto account = AccountOf({block(10, 100, 2, 0), block(12, 300, 3, 1), block(9, 200, 2, 1)});
  EXPECT_EQ(account.multiprocessors, 2) << "two blocks shared one";
  EXPECT_EQ(account.launches, 2u);
  EXPECT_EQ(account.rounds, 31u);
  EXPECT_EQ(account.least_busy_ns, 100u);
  EXPECT_EQ(AccountOf({block(0, 0, 1, 0)}).multiprocessors, 0);
  EXPECT_EQ(AccountOf({}).launches, 0u);
}

TEST(CudaLibrary, IsTheOneBesideNvmlIfThatHasAPath) {
  EXPECT_EQ(CudaLibraryFor("libnvidia-ml.so.1"), "libcuda.so.1");
  EXPECT_EQ(CudaLibraryFor("/nowhere/libnvidia-ml.so.1"), "libcuda.so.1");
  const ShadowGpus gpus;
  EXPECT_EQ(CudaLibraryFor(gpus.nvml()), gpus.cuda());
  EXPECT_TRUE(CheckCudaLibrary(gpus.cuda()).ok());
  EXPECT_THAT(Message(CheckCudaLibrary(gpus.nvml())), HasSubstr("it does not have cuInit"));
  EXPECT_THAT(Message(CheckCudaLibrary("/nowhere/libcuda.so.1")), HasSubstr("load the CUDA driver"));
}

TEST(CudaGpu, IsFoundByItsUuidAlone) {
  const ShadowGpus gpus;
  const auto gpu = CudaGpu::Open(gpus.cuda(), gpus[1].identity.uuid);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_EQ((*gpu)->multiprocessors(), 132);
  EXPECT_NE(gpus[1].processes[0].load(), 0u) << "its context is on that one";
  EXPECT_EQ(gpus[0].processes[0].load(), 0u);
  EXPECT_TRUE(absl::IsNotFound(CudaGpu::Open(gpus.cuda(), "GPU-another").status()));
}

TEST(Burner, EndsWhenItHasRunForLongEnoughAndWhenItIsTold) {
  const ShadowGpus gpus;
  const auto gpu = CudaGpu::Open(gpus.cuda(), gpus[0].identity.uuid);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const auto burner = Burner::Make(**gpu, BurnKind::kMemory, 66);
  ASSERT_TRUE(burner.ok()) << burner.status();
  ASSERT_TRUE((*burner)->Launch({.busy_ns = 3'000'000, .life_ns = 60'000'000'000, .max_rounds = 0}).ok());
  ASSERT_TRUE((*burner)->Await().ok());
  const Burner::Account once = (*burner)->Read();
  EXPECT_EQ(once.multiprocessors, 66);
  EXPECT_EQ(once.launches, 1u);
  EXPECT_NEAR(static_cast<double>(once.busy_ns), 3e6, 1000);
  EXPECT_NEAR(static_cast<double>(gpus[0].taken_ns.load()), 1.5e6, 1e4) << "half of the multiprocessors";
  ASSERT_TRUE((*burner)->Launch({.busy_ns = 60'000'000'000, .life_ns = 60'000'000'000, .max_rounds = 2}).ok());
  ASSERT_TRUE((*burner)->Await().ok());
  EXPECT_EQ((*burner)->Read().rounds, once.rounds + 2 * 66);
  ASSERT_TRUE((*burner)->Launch({.busy_ns = 60'000'000'000, .life_ns = 60'000'000'000, .max_rounds = 0}).ok());
  EXPECT_TRUE((*burner)->Running().value());
  (*burner)->Stop();
  ASSERT_TRUE((*burner)->Await().ok());
  EXPECT_EQ((*burner)->Read().launches, 3u);
}

TEST(Burner, EndsByItsOwnWatchdog) {
  const ShadowGpus gpus;
  const auto gpu = CudaGpu::Open(gpus.cuda(), gpus[0].identity.uuid);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const auto burner = Burner::Make(**gpu, BurnKind::kCompute, 1000);
  ASSERT_TRUE(burner.ok()) << burner.status();
  EXPECT_EQ((*burner)->blocks(), 132) << "no more than it has";
  ASSERT_TRUE((*burner)->Launch({.busy_ns = 60'000'000'000, .life_ns = 5'000'000, .max_rounds = 0}).ok());
  ASSERT_TRUE((*burner)->Await().ok());
  EXPECT_LT((*burner)->Read().busy_ns, 60'000'000'000u);
}

class Burn : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gpus_.Held()); }
  v1::AimedFault Fault() const { return Aim("gpu.burn", child_.identity()); }
  v1::UndoRecord Prepared() {
    auto record = injector_->Prepare(Fault());
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
    return *record;
  }
  size_t Programs(const v1::UndoRecord& record) const {
    const auto programs = Helper(kBurnProgram, kBurnCount, kProgram).Find(record.gpu().token());
    return programs.ok() ? programs->size() : 99;
  }

  const ShadowGpus gpus_;
  const Child child_ = ComputingOnGpu(gpus_.file());
  const std::unique_ptr<Injector> injector_ = MakeGpuBurn(kProgram);
};

TEST_F(Burn, CountsOnEachMultiprocessorUntilItIsUndone) {
  const v1::UndoRecord record = Prepared();
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  const auto effect = injector_->Inspect(record);
  EXPECT_EQ(effect->presence, Presence::kPresent);
  EXPECT_THAT(effect->evidence, HasSubstr("132 of 132 multiprocessors"));
  const uint64_t taken = gpus_[1].taken_ns.load();
  EXPECT_GT(taken, 0u);
  EXPECT_TRUE(Eventually([&] { return gpus_[1].taken_ns.load() > taken; })) << "again in each period";
  EXPECT_EQ(gpus_[0].taken_ns.load(), 0u) << "of its own GPU alone";
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_EQ(Programs(record), 0u);
  EXPECT_TRUE(injector_->Revert(record).ok()) << "any number of times";
}

TEST_F(Burn, EndsWithTheProcessThatAskedForIt) {
  const v1::UndoRecord record = Prepared();
  Child agent([&] { ::_exit(MakeGpuBurn(kProgram)->Apply(record).ok() ? 0 : 1); });
  EXPECT_EQ(agent.Reap(), 0);
  EXPECT_TRUE(Eventually([&] { return Programs(record) == 0; }));
}

TEST_F(Burn, SaysWhatTheDriverSaid) {
  const v1::UndoRecord record = Prepared();
  gpus_[1].lost = 1;
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("CUDA_ERROR_UNKNOWN"));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Burn, RefusesWithTheReason) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_gpu_burn()->set_duty(0);
  EXPECT_TRUE(absl::IsInvalidArgument(injector_->Prepare(fault).status()));
  const Child idle = Child::Idle();
  fault = Aim("gpu.burn", idle.identity());
  EXPECT_FALSE(injector_->Prepare(fault).ok()) << "it computes on no GPU";
  std::filesystem::remove(gpus_.cuda());
  const auto without = injector_->Prepare(Fault());
  if (CheckCudaLibrary("libcuda.so.1").ok()) GTEST_SKIP() << "this process finds another CUDA driver";
  EXPECT_THAT(Message(without.status()), HasSubstr("load the CUDA driver: libcuda.so.1"));
}

}  // namespace
}  // namespace triodrill
