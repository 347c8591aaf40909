// What only a real GPU can tell: that the driver takes our kernels, that they end in each of their ways, and what a
// burn takes from a victim. Skipped with the reason where there is none. Under four minutes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <memory>
#include <vector>

#include "injectors/gpu/burn_order.h"
#include "injectors/gpu/burner.h"
#include "injectors/gpu/cuda.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper.h"
#include "tests/unit/injectors/child.h"
#include "triodrill/kernels/hang_ptx.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using testing::Eventually;

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-burn";

class RealGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto uuids = ListCudaGpus(kLibrary);
    if (!uuids.ok()) GTEST_SKIP() << "no GPU here: " << uuids.status().message();
    if (uuids->empty()) GTEST_SKIP() << "no GPU here: the CUDA driver has none";
    uuid_ = uuids->front();
    auto gpu = CudaGpu::Open(kLibrary, uuid_);
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    gpu_ = *std::move(gpu);
  }
  std::unique_ptr<Burner> Make(BurnKind kind, int blocks) const {
    auto burner = Burner::Make(*gpu_, kind, blocks);
    EXPECT_TRUE(burner.ok()) << burner.status();
    return burner.ok() ? *std::move(burner) : nullptr;
  }

  std::string uuid_;
  std::unique_ptr<CudaGpu> gpu_;
};

constexpr uint64_t kSecond = 1'000'000'000;

TEST_F(RealGpu, RunsEachKindOfBurnOnAsManyMultiprocessorsAsAsked) {
  for (const BurnKind kind : {BurnKind::kCompute, BurnKind::kMemory}) {
    for (const int blocks : {1, gpu_->multiprocessors() / 2, gpu_->multiprocessors()}) {
      const auto burner = Make(kind, blocks);
      ASSERT_NE(burner, nullptr);
      ASSERT_TRUE(burner->Launch({.busy_ns = kSecond / 100, .life_ns = kSecond, .max_rounds = 0}).ok());
      ASSERT_TRUE(burner->Await().ok());
      const Burner::Account account = burner->Read();
      EXPECT_EQ(account.multiprocessors, burner->blocks()) << "each on one of its own";
      EXPECT_NEAR(static_cast<double>(account.busy_ns), 1e7, 3e5);
      std::cout << "burn: kind " << static_cast<int>(kind) << ", " << blocks << " blocks: " << account.rounds
                << " rounds, " << account.busy_ns << " ns busy" << std::endl;
    }
  }
}

TEST_F(RealGpu, EndsByFlagAndByItsOwnWatchdog) {
  const auto burner = Make(BurnKind::kCompute, gpu_->multiprocessors());
  ASSERT_NE(burner, nullptr);
  ASSERT_TRUE(burner->Launch({.busy_ns = 600 * kSecond, .life_ns = kSecond / 5, .max_rounds = 0}).ok());
  ASSERT_TRUE(burner->Await().ok()) << "its own watchdog";
  ASSERT_TRUE(burner->Launch({.busy_ns = 600 * kSecond, .life_ns = 30 * kSecond, .max_rounds = 0}).ok());
  EXPECT_TRUE(burner->Running().value());
  const Nanos told = SinceBoot();
  burner->Stop();
  ASSERT_TRUE(burner->Await().ok());
  const Nanos took = SinceBoot() - told;
  std::cout << "burn: ended " << took.count() / 1000 << " us after the flag" << std::endl;
  EXPECT_LT(took, std::chrono::seconds(10)) << "the flag, and not the watchdog";
}

TEST_F(RealGpu, HangsItsStreamUntilItIsReleased) {
  const cuda::Calls& calls = gpu_->calls();
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  ASSERT_TRUE(gpu_->Check("load", calls.cuModuleLoadData(&module, kernels::kHangPtx)).ok());
  ASSERT_TRUE(gpu_->Check("find", calls.cuModuleGetFunction(&function, module, kernels::kHang)).ok());
  // As the library has it: a page of its own, pinned.
  alignas(4096) static std::array<kernels::Word32, 1024> page{};
  cuda::DeviceMemory on_gpu = 0;
  ASSERT_TRUE(gpu_->Check("pin", calls.cuMemHostRegister_v2(page.data(), sizeof page,
                                                            cuda::kHostPortable | cuda::kHostDeviceMap))
                  .ok());
  ASSERT_TRUE(gpu_->Check("map", calls.cuMemHostGetDevicePointer_v2(&on_gpu, page.data(), 0)).ok());
  const auto word = [](int i) { return __atomic_load_n(&page[static_cast<size_t>(i)], __ATOMIC_ACQUIRE); };
  const auto launch = [&](kernels::Word64 life) {
    cuda::DeviceMemory armed = on_gpu;
    cuda::DeviceMemory state = on_gpu + 64;
    kernels::Word32 bit = 4;
    void* parameters[] = {&armed, &bit, &state, &life};
    __atomic_store_n(&page[0], 6U, __ATOMIC_RELEASE);
    return calls.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, cuda::LegacyStream(), parameters, nullptr);
  };
  ASSERT_EQ(launch(60 * kSecond), cuda::kSuccess);
  EXPECT_TRUE(Eventually([&] { return word(16) == kernels::kHangSpins; }));
  EXPECT_EQ(calls.cuStreamQuery(nullptr), cuda::kNotReady);
  __atomic_store_n(&page[0], 2U, __ATOMIC_RELEASE);
  ASSERT_EQ(calls.cuStreamSynchronize(nullptr), cuda::kSuccess);
  EXPECT_EQ(word(16), kernels::kHangReleased);
  ASSERT_EQ(launch(kSecond / 5), cuda::kSuccess);
  ASSERT_EQ(calls.cuStreamSynchronize(nullptr), cuda::kSuccess);
  EXPECT_EQ(word(16), kernels::kHangLifeOver);
  calls.cuMemHostUnregister(page.data());
}

// A victim that always wants the GPU: so many rounds of work, and how long they take beside the program.
TEST_F(RealGpu, ABurnTakesWhatWasAsked) {
  const auto victim = Make(BurnKind::kCompute, gpu_->multiprocessors());
  ASSERT_NE(victim, nullptr);
  const auto seconds_for = [&](uint64_t rounds) {
    const Nanos begun = SinceBoot();
    EXPECT_TRUE(victim->Launch({.busy_ns = 600 * kSecond, .life_ns = 60 * kSecond, .max_rounds = rounds}).ok());
    EXPECT_TRUE(victim->Await().ok());
    return std::chrono::duration<double>(SinceBoot() - begun).count();
  };
  seconds_for(10'000);
  const double per_round = seconds_for(100'000) / 100'000;
  const auto rounds = static_cast<uint64_t>(4 / per_round);
  const double alone = seconds_for(rounds);
  for (const int percent : {10, 20, 40}) {
    BurnOrder order;
    order.common = {Cat("gpu-test/", percent), IdentifyProcess(::getpid()).value(),
                    SinceBoot() + std::chrono::seconds(60)};
    order.library = kLibrary;
    order.uuid = uuid_;
    order.duty = percent / 100.0;
    order.period = std::chrono::milliseconds(20);
    const Helper helper(kBurnProgram, kBurnCount, kProgram);
    const Status started = helper.Start(order.common, BurnArguments(order));
    ASSERT_TRUE(started.ok()) << started;
    const double beside = seconds_for(rounds);
    EXPECT_TRUE(helper.End(order.common.token).ok());
    const double taken = (1 - alone / beside) * 100;
    std::cout << "burn: asked " << percent << "%, the victim lost " << taken << "% (" << alone << " s alone, " << beside
              << " s beside it)" << std::endl;
    EXPECT_NEAR(taken, percent, 2);
  }
}

}  // namespace
}  // namespace triodrill
