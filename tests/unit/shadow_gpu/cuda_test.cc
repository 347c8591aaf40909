// The stand-in of the CUDA driver, loaded by name as the vendor's would be: one stream, in order, and no kernels but
// ours.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "drills/shadow/gpu/beside.h"
#include "drills/shadow/gpu/processes.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/trainer/gpu_stream.h"
#include "drills/shadow/trainer/kernel.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"
#include "triodrill/kernels/burn_ptx.h"
#include "triodrill/kernels/cuda_abi.h"
#include "triodrill/kernels/hang_ptx.h"
#include "triodrill/kernels/layout.h"

namespace triodrill::shadow::gpu {
namespace {

constexpr uint64_t kMinute = 60'000'000'000;

class Driver : public ::testing::Test {
 protected:
  void SetUp() override {
    // By a link beside the state, as a node of the embedded partition has it.
    const std::string link = Cat(gpus_.dir(), "/libcuda.so.1");
    std::filesystem::create_symlink(TRIODRILL_SHADOW_CUDA, link);
    void* const library = dlopen(link.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
#define TRIODRILL_LOOK_UP(symbol, parameters)                                         \
  calls_.symbol = reinterpret_cast<decltype(calls_.symbol)>(dlsym(library, #symbol)); \
  ASSERT_NE(calls_.symbol, nullptr) << #symbol;
    TRIODRILL_CUDA_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
    // The library stays in the process, and with it what it mapped first: one state for all tests of this program.
    setenv(kStateVariable, First().file().c_str(), 1);
    ASSERT_EQ(calls_.cuInit(0), cuda::kSuccess);
    ASSERT_EQ(calls_.cuCtxCreate_v2(&context_, 0, 1), cuda::kSuccess);
  }
  void TearDown() override {
    for (const cuda::Module module : modules_) calls_.cuModuleUnload(module);
    if (context_ != nullptr) calls_.cuCtxDestroy_v2(context_);
    unsetenv(kStateVariable);
  }
  static const GpuDir& First() {
    static const GpuDir first;
    return first;
  }
  static Gpu& Of(int gpu) {
    static const Result<MappedState> state = MappedState::Open(First().file(), true);
    return (*state)->gpus[gpu];
  }
  cuda::Function Find(const char* text, const char* name) {
    cuda::Module module = nullptr;
    cuda::Function function = nullptr;
    EXPECT_EQ(calls_.cuModuleLoadData(&module, text), cuda::kSuccess);
    if (module != nullptr) modules_.push_back(module);
    EXPECT_EQ(calls_.cuModuleGetFunction(&function, module, name), cuda::kSuccess) << name;
    return function;
  }
  cuda::Code LaunchHang(kernels::Word32* armed, kernels::Word32* state, uint64_t life = kMinute) {
    kernels::Word32 bit = 2;
    kernels::Word64 life_ns = life;
    void* parameters[] = {&armed, &bit, &state, &life_ns};
    return calls_.cuLaunchKernel(Find(kernels::kHangPtx, kernels::kHang), 1, 1, 1, 1, 1, 1, 0, cuda::LegacyStream(),
                                 parameters, nullptr);
  }
  cuda::Code LaunchBurn(kernels::Word32* stop, kernels::BurnBlock* blocks, unsigned count, kernels::BurnBounds bounds) {
    void* memory = nullptr;
    kernels::Word64 vectors = 0;
    void* parameters[] = {&stop, &blocks, &bounds, &memory, &vectors};
    return calls_.cuLaunchKernel(Find(kernels::kBurnPtx, kernels::kBurnCompute), count, 1, 1, kernels::kBurnThreads, 1,
                                 1, 0, nullptr, parameters, nullptr);
  }
  static kernels::Word32 Read(const kernels::Word32& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

  const GpuDir gpus_;
  cuda::Calls calls_;
  cuda::Context context_ = nullptr;
  std::vector<cuda::Module> modules_;
};

TEST_F(Driver, PerformsWhatIsOnAStreamInOrder) {
  kernels::Word32 armed = 2;
  kernels::Word32 state = kernels::kHangNone;
  kernels::Word32 stop = 0;
  std::array<kernels::BurnBlock, 3> blocks{};
  ASSERT_EQ(LaunchHang(&armed, &state), cuda::kSuccess);
  ASSERT_EQ(LaunchBurn(&stop, blocks.data(), 3, {.busy_ns = kMinute, .life_ns = kMinute, .max_rounds = 1}),
            cuda::kSuccess);
  while (Read(state) != kernels::kHangSpins) std::this_thread::yield();
  EXPECT_EQ(calls_.cuStreamQuery(nullptr), cuda::kNotReady);
  EXPECT_EQ(Read(blocks[0].launches), 0u) << "it waits behind the other";
  __atomic_store_n(&armed, 1U, __ATOMIC_RELEASE);
  ASSERT_EQ(calls_.cuStreamSynchronize(cuda::LegacyStream()), cuda::kSuccess);
  EXPECT_EQ(Read(state), kernels::kHangReleased);
  for (const kernels::BurnBlock& block : blocks) EXPECT_EQ(block.launches, 1u);
  EXPECT_NE(blocks[0].multiprocessor, blocks[1].multiprocessor);
  EXPECT_EQ(calls_.cuStreamQuery(nullptr), cuda::kSuccess);
}

TEST_F(Driver, CutsOffWhatRunsWithItsContext) {
  kernels::Word32 armed = 2;
  kernels::Word32 state = kernels::kHangNone;
  ASSERT_EQ(LaunchHang(&armed, &state), cuda::kSuccess);
  ASSERT_EQ(calls_.cuCtxDestroy_v2(context_), cuda::kSuccess);
  context_ = nullptr;
  EXPECT_EQ(calls_.cuStreamQuery(nullptr), cuda::kInvalidContext);
}

TEST_F(Driver, EndsAHangWithItsLife) {
  kernels::Word32 armed = 2;
  kernels::Word32 state = kernels::kHangNone;
  ASSERT_EQ(LaunchHang(&armed, &state, 2'000'000), cuda::kSuccess);
  ASSERT_EQ(calls_.cuStreamSynchronize(nullptr), cuda::kSuccess);
  EXPECT_EQ(state, static_cast<kernels::Word32>(kernels::kHangLifeOver));
}

TEST_F(Driver, CountsAProcessWithAContextAmongTheGpus) {
  const auto holds = [](const Gpu& gpu) {
    for (const Word64& word : gpu.processes) {
      if (LivingProcess(word.load()) == getpid()) return true;
    }
    return false;
  };
  EXPECT_TRUE(holds(Of(1)));
  EXPECT_FALSE(holds(Of(0)));
  ASSERT_EQ(calls_.cuCtxDestroy_v2(context_), cuda::kSuccess);
  context_ = nullptr;
  EXPECT_FALSE(holds(Of(1)));
}

TEST_F(Driver, RunsNoKernelButOurs) {
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  EXPECT_EQ(calls_.cuModuleLoadData(&module, "not PTX"), cuda::kInvalidPtx);
  ASSERT_EQ(calls_.cuModuleLoadData(&module, ".version 7.0\n.target sm_80\n.visible .entry other(\n)"), cuda::kSuccess);
  EXPECT_EQ(calls_.cuModuleGetFunction(&function, module, "missing"), cuda::kNotFound);
  EXPECT_EQ(calls_.cuModuleGetFunction(&function, module, "other"), cuda::kNotSupported);
  EXPECT_EQ(calls_.cuModuleUnload(module), cuda::kSuccess);
}

TEST_F(Driver, NamesTheGpuAsNvmlDoes) {
  cuda::Uuid uuid{};
  ASSERT_EQ(calls_.cuDeviceGetUuid(&uuid, 1), cuda::kSuccess);
  const std::string text = Of(1).identity.uuid;
  char first[9];
  std::snprintf(first, sizeof first, "%02x%02x%02x%02x", static_cast<unsigned char>(uuid.bytes[0]),
                static_cast<unsigned char>(uuid.bytes[1]), static_cast<unsigned char>(uuid.bytes[2]),
                static_cast<unsigned char>(uuid.bytes[3]));
  EXPECT_EQ(text.substr(4, 8), first);
}

// Half of what passes is taken by somebody else, whenever the clock is looked at.
class SharedClock final : public Clock {
 public:
  explicit SharedClock(Gpu& gpu) : gpu_(gpu) {}
  TimePoint Now() override {
    const TimePoint now = clock_.Now();
    if (now > last_) gpu_.taken_ns.fetch_add(static_cast<uint64_t>((now - last_).count() / 2));
    last_ = now;
    return now;
  }

 private:
  SystemClock clock_;
  Gpu& gpu_;
  TimePoint last_ = clock_.Now();
};

TEST(GpuKernel, StandsStillWhileOthersHaveTheirTurn) {
  const GpuDir gpus;
  const Result<HeldGpu> device = HeldGpu::Open(gpus.file(), 1);
  const Result<MappedState> state = MappedState::Open(gpus.file(), true);
  ASSERT_TRUE(device.ok() && state.ok());
  SharedClock clock((*state)->gpus[1]);
  trainer::Orders orders;
  trainer::SimulatedKernel kernel(std::chrono::milliseconds(40), clock, orders, &*device);
  const TimePoint begun = clock.Now();
  ASSERT_TRUE(kernel.Run().ok());
  EXPECT_GE(clock.Now() - begun, std::chrono::milliseconds(76)) << "twice as long, but for the last launch";
}

}  // namespace
}  // namespace triodrill::shadow::gpu
