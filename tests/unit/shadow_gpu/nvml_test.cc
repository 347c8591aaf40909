// The stand-in for libnvidia-ml.so.1, through its C functions alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/unit/shadow_gpu/gpu_dir.h"
#include "tests/unit/shadow_gpu/nvml_library.h"

namespace triodrill::shadow::gpu {
namespace {

using namespace nvml;  // NOLINT(google-build-using-namespace)

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(api.missing, "");
    setenv("TRIODRILL_SHADOW_GPU_STATE", gpus.file().c_str(), 1);
    ASSERT_EQ(api.nvmlInit_v2(), kSuccess);
    ASSERT_EQ(api.nvmlDeviceGetHandleByIndex_v2(1, &device), kSuccess);
  }
  void TearDown() override {
    api.nvmlShutdown();
    unsetenv("TRIODRILL_SHADOW_GPU_STATE");
  }

  unsigned Clock() const {
    unsigned mhz = 0;
    EXPECT_EQ(api.nvmlDeviceGetClockInfo(device, kClockSm, &mhz), kSuccess);
    return mhz;
  }
  unsigned long long Reasons() const {
    unsigned long long reasons = ~0ULL;
    EXPECT_EQ(api.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons), kSuccess);
    return reasons;
  }
  unsigned Power() const {
    unsigned mw = 0;
    EXPECT_EQ(api.nvmlDeviceGetPowerUsage(device, &mw), kSuccess);
    return mw;
  }

  const NvmlLibrary& api = NvmlLibrary::Get();
  GpuDir gpus{4};
  Device device = nullptr;
};

// In a process of its own, which the test's end ends, too.
pid_t InChild(const std::function<int()>& act) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(act());
}

int CodeOf(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Nvml, CountsAndNamesItsGpus) {
  unsigned count = 0;
  EXPECT_EQ(api.nvmlDeviceGetCount_v2(&count), kSuccess);
  EXPECT_EQ(count, 4U);
  char uuid[80] = {};
  EXPECT_EQ(api.nvmlDeviceGetUUID(device, uuid, sizeof uuid), kSuccess);
  EXPECT_EQ(std::string(uuid).substr(0, 4), "GPU-");
  EXPECT_EQ(std::string(uuid).size(), 40U);
  Device same = nullptr;
  EXPECT_EQ(api.nvmlDeviceGetHandleByUUID(uuid, &same), kSuccess);
  EXPECT_EQ(same, device);
  EXPECT_EQ(api.nvmlDeviceGetHandleByUUID("GPU-none", &same), kNotFound);
  EXPECT_EQ(api.nvmlDeviceGetUUID(device, uuid, 40), kInsufficientSize);
  EXPECT_EQ(api.nvmlDeviceGetHandleByIndex_v2(4, &same), kInvalidArgument);
  char name[96] = {};
  EXPECT_EQ(api.nvmlDeviceGetName(device, name, sizeof name), kSuccess);
  EXPECT_NE(std::string(name).find("simulated"), std::string::npos);
  PciInfo pci{};
  EXPECT_EQ(api.nvmlDeviceGetPciInfo_v3(device, &pci), kSuccess);
  EXPECT_STREQ(pci.bus_id, "00000000:11:00.0");
  EXPECT_STREQ(pci.bus_id_legacy, "0000:11:00.0");
  EXPECT_EQ(pci.bus, 0x11U);
  EXPECT_STREQ(api.nvmlErrorString(kGpuIsLost), "GPU is lost");
}

TEST_F(Nvml, ALockSlowsAndGivesNoReason) {
  EXPECT_EQ(Clock(), 1980U);
  ASSERT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 210, 600), kSuccess);
  EXPECT_EQ(Clock(), 600U);
  EXPECT_EQ(Reasons(), 0U);
  Device other = nullptr;
  ASSERT_EQ(api.nvmlDeviceGetHandleByIndex_v2(0, &other), kSuccess);
  unsigned mhz = 0;
  EXPECT_EQ(api.nvmlDeviceGetClockInfo(other, kClockSm, &mhz), kSuccess);
  EXPECT_EQ(mhz, 1980U);
  EXPECT_EQ(api.nvmlDeviceGetMaxClockInfo(device, kClockSm, &mhz), kSuccess);
  EXPECT_EQ(mhz, 1980U);
  EXPECT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 900, 600), kInvalidArgument);
  EXPECT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, kLimitTdp, 600), kInvalidArgument);
  EXPECT_EQ(Clock(), 600U);
  ASSERT_EQ(api.nvmlDeviceResetGpuLockedClocks(device), kSuccess);
  EXPECT_EQ(Clock(), 1980U);
}

TEST_F(Nvml, APowerCapSlowsAndSaysSo) {
  unsigned low = 0;
  unsigned high = 0;
  unsigned usual = 0;
  ASSERT_EQ(api.nvmlDeviceGetPowerManagementLimitConstraints(device, &low, &high), kSuccess);
  ASSERT_EQ(api.nvmlDeviceGetPowerManagementDefaultLimit(device, &usual), kSuccess);
  EXPECT_EQ(Power(), 650'000U);
  ASSERT_EQ(api.nvmlDeviceSetPowerManagementLimit(device, 325'000), kSuccess);
  EXPECT_EQ(Clock(), 990U);
  EXPECT_EQ(Reasons(), kSwPowerCap);
  EXPECT_EQ(Power(), 325'000U);
  // A clock that needs less than the cap is not held back by it.
  ASSERT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 600, 600), kSuccess);
  EXPECT_EQ(Clock(), 600U);
  EXPECT_EQ(Reasons(), 0U);
  EXPECT_EQ(api.nvmlDeviceSetPowerManagementLimit(device, low - 1), kInvalidArgument);
  EXPECT_EQ(api.nvmlDeviceSetPowerManagementLimit(device, high + 1), kInvalidArgument);
  unsigned limit = 0;
  EXPECT_EQ(api.nvmlDeviceGetEnforcedPowerLimit(device, &limit), kSuccess);
  EXPECT_EQ(limit, 325'000U);
  ASSERT_EQ(api.nvmlDeviceSetPowerManagementLimit(device, usual), kSuccess);
  ASSERT_EQ(api.nvmlDeviceResetGpuLockedClocks(device), kSuccess);
  EXPECT_EQ(Clock(), 1980U);
}

TEST_F(Nvml, HeatHalvesTheClockAndSaysSo) {
  gpus.Set(1, "temperature=95");
  EXPECT_EQ(Clock(), 990U);
  EXPECT_EQ(Reasons(), kHwThermalSlowdown | kHwSlowdown);
  unsigned celsius = 0;
  EXPECT_EQ(api.nvmlDeviceGetTemperature(device, kSensorGpu, &celsius), kSuccess);
  EXPECT_EQ(celsius, 95U);
  gpus.Set(1, "temperature=50");
  EXPECT_EQ(Clock(), 1980U);
  gpus.Set(1, "hw_power_brake=1");
  EXPECT_EQ(Clock(), 990U);
  EXPECT_EQ(Reasons(), kHwPowerBrake);
  gpus.Set(1, "hw_power_brake=0");
  EXPECT_EQ(Reasons(), 0U);
}

TEST_F(Nvml, ALostGpuAnswersNothing) {
  char uuid[80] = {};
  ASSERT_EQ(api.nvmlDeviceGetUUID(device, uuid, sizeof uuid), kSuccess);
  EventSet set = nullptr;
  ASSERT_EQ(api.nvmlEventSetCreate(&set), kSuccess);
  ASSERT_EQ(api.nvmlDeviceRegisterEvents(device, kEventXid, set), kSuccess);
  gpus.Set(1, "lost=1");
  unsigned mhz = 0;
  EXPECT_EQ(api.nvmlDeviceGetClockInfo(device, kClockSm, &mhz), kGpuIsLost);
  EXPECT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 600, 600), kGpuIsLost);
  Device found = nullptr;
  EXPECT_EQ(api.nvmlDeviceGetHandleByUUID(uuid, &found), kGpuIsLost);
  EXPECT_EQ(api.nvmlDeviceGetHandleByIndex_v2(0, &found), kSuccess);
  EventData event{};
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 0), kSuccess);
  EXPECT_EQ(event.data, 79U);
  EXPECT_EQ(event.device, device);
  EXPECT_EQ(api.nvmlEventSetFree(set), kSuccess);
  gpus.Set(1, "lost=0");
  EXPECT_EQ(Clock(), 1980U);
}

TEST_F(Nvml, ProcessesSeeWhatOthersSet) {
  ASSERT_EQ(api.nvmlDeviceSetPowerManagementLimit(device, 325'000), kSuccess);
  const pid_t child = InChild([&] {
    unsigned limit = 0;
    if (api.nvmlDeviceGetPowerManagementLimit(device, &limit) != kSuccess || limit != 325'000) return 1;
    return api.nvmlDeviceSetGpuLockedClocks(device, 210, 600) == kSuccess ? 0 : 2;
  });
  ASSERT_EQ(CodeOf(child), 0);
  EXPECT_EQ(Clock(), 600U);
}

TEST_F(Nvml, AWriterKilledInTheMiddleLeavesWholeValuesAndNoLock) {
  const auto memory = [&] {
    unsigned mhz = 0;
    EXPECT_EQ(api.nvmlDeviceGetClockInfo(device, kClockMemory, &mhz), kSuccess);
    return mhz;
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 210, 1980), kSuccess);
    const pid_t writer = InChild([&] {
      for (unsigned i = 0;; ++i) {
        const unsigned mhz = i % 2 == 0 ? 300 : 1200;
        if (api.nvmlDeviceSetGpuLockedClocks(device, mhz, mhz) != kSuccess) return 1;
        if (api.nvmlDeviceSetMemoryLockedClocks(device, mhz, mhz) != kSuccess) return 2;
      }
    });
    while (Clock() == 1980 || memory() == 2619) std::this_thread::yield();
    kill(writer, SIGKILL);
    ASSERT_EQ(CodeOf(writer), -SIGKILL);
    const Result<MappedState> state = MappedState::Open(gpus.file(), true);
    ASSERT_TRUE(state.ok()) << state.status();
    const uint64_t locked = (*state)->gpus[1].locked_sm.load();
    EXPECT_EQ(LowOf(locked), HighOf(locked));
    EXPECT_TRUE(Clock() == 300 || Clock() == 1200) << Clock();
    ASSERT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 600, 600), kSuccess);
    EXPECT_EQ(Clock(), 600U);
    ASSERT_EQ(api.nvmlDeviceResetMemoryLockedClocks(device), kSuccess);
    EXPECT_EQ(memory(), 2619U);
  }
}

TEST_F(Nvml, CountersAreWhatTheHardwareCounted) {
  gpus.Set(1, "ecc_dbe+=2");
  gpus.Set(1, "ecc_dbe+=1");
  gpus.Set(1, "ecc_dbe=0");
  gpus.Set(1, "ecc_sbe=5");
  const auto errors = [&](MemoryErrorType type, EccCounterType counter) {
    unsigned long long count = 99;
    EXPECT_EQ(api.nvmlDeviceGetTotalEccErrors(device, type, counter, &count), kSuccess);
    return count;
  };
  EXPECT_EQ(errors(kUncorrected, kVolatile), 0U);
  EXPECT_EQ(errors(kUncorrected, kAggregate), 3U);
  EXPECT_EQ(errors(kCorrected, kVolatile), 5U);
  unsigned long long in_dram = 0;
  EXPECT_EQ(api.nvmlDeviceGetMemoryErrorCounter(device, kCorrected, kVolatile, kDram, &in_dram), kSuccess);
  EXPECT_EQ(in_dram, 5U);
  gpus.Set(1, "rows_uncorrectable=3");
  gpus.Set(1, "row_remap_failure=1");
  unsigned rows[4] = {};
  EXPECT_EQ(api.nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]), kSuccess);
  EXPECT_EQ(rows[1], 3U);
  EXPECT_EQ(rows[3], 1U);
}

TEST_F(Nvml, WaitsForEventsOfOtherProcesses) {
  EventSet set = nullptr;
  ASSERT_EQ(api.nvmlEventSetCreate(&set), kSuccess);
  ASSERT_EQ(api.nvmlDeviceRegisterEvents(device, kEventXid | kEventDbe, set), kSuccess);
  EXPECT_EQ(api.nvmlDeviceRegisterEvents(device, 0x10, set), kNotSupported);
  EventData event{};
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 1), kTimeout);
  const pid_t child = InChild([&] {
    gpus.Set(0, "xid=63");  // of a GPU that nobody registered
    gpus.Set(1, "xid=94");
    return 0;
  });
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 30'000), kSuccess);
  EXPECT_EQ(event.type, kEventXid);
  EXPECT_EQ(event.data, 94U);
  EXPECT_EQ(CodeOf(child), 0);
  // The same number again is an event again.
  gpus.Set(1, "xid=94");
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 0), kSuccess);
  gpus.Set(1, "ecc_dbe+=1");
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 0), kSuccess);
  EXPECT_EQ(event.type, kEventDbe);
  EXPECT_EQ(api.nvmlEventSetWait_v2(set, &event, 0), kTimeout);
  EXPECT_EQ(api.nvmlEventSetFree(set), kSuccess);
}

TEST_F(Nvml, ListsTheProcessesThatLive) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = InChild([&] {
    const Result<gpu::HeldGpu> held = gpu::HeldGpu::Open(gpus.file(), 1);
    const char said = held.ok() ? 'y' : 'n';
    if (write(ready[1], &said, 1) != 1) return 1;
    pause();
    return 0;
  });
  char said = 0;
  ASSERT_EQ(read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  unsigned count = 0;
  EXPECT_EQ(api.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, nullptr), kInsufficientSize);
  ProcessInfo processes[4] = {};
  count = 4;
  EXPECT_EQ(api.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes), kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned>(child));
  kill(child, SIGKILL);
  EXPECT_EQ(CodeOf(child), -SIGKILL);
  count = 4;
  EXPECT_EQ(api.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes), kSuccess);
  EXPECT_EQ(count, 0U);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(Nvml, TheDriverMayRefuseOrBeOld) {
  gpus.Set(0, "driver.deny_set=1");
  EXPECT_EQ(api.nvmlDeviceSetGpuLockedClocks(device, 600, 600), kNoPermission);
  EXPECT_EQ(Clock(), 1980U);
  gpus.Set(0, "driver.deny_set=0");
  gpus.Set(0, "driver.old=1");
  unsigned long long reasons = 0;
  EXPECT_EQ(api.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons), kFunctionNotFound);
  EXPECT_EQ(api.nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons), kSuccess);
}

TEST_F(Nvml, SupportedClocksComeInTwoCalls) {
  unsigned count = 0;
  unsigned memory = 0;
  EXPECT_EQ(api.nvmlDeviceGetSupportedMemoryClocks(device, &count, nullptr), kInsufficientSize);
  EXPECT_EQ(api.nvmlDeviceGetSupportedMemoryClocks(device, &count, &memory), kSuccess);
  EXPECT_EQ(memory, 2619U);
  count = 0;
  EXPECT_EQ(api.nvmlDeviceGetSupportedGraphicsClocks(device, memory, &count, nullptr), kInsufficientSize);
  std::vector<unsigned> clocks(count);
  EXPECT_EQ(api.nvmlDeviceGetSupportedGraphicsClocks(device, memory, &count, clocks.data()), kSuccess);
  EXPECT_EQ(clocks.front(), 1980U);
  EXPECT_EQ(clocks.back(), 210U);
}

TEST(NvmlStart, NeedsAWholeStateFile) {
  const NvmlLibrary& api = NvmlLibrary::Get();
  ASSERT_EQ(api.missing, "");
  unsigned count = 0;
  unsetenv("TRIODRILL_SHADOW_GPU_STATE");
  EXPECT_EQ(api.nvmlDeviceGetCount_v2(&count), kUninitialized);
  EXPECT_EQ(api.nvmlShutdown(), kUninitialized);
  EXPECT_EQ(api.nvmlInit_v2(), kDriverNotLoaded);
  const GpuDir gpus;
  std::filesystem::resize_file(gpus.file(), 4096);
  setenv("TRIODRILL_SHADOW_GPU_STATE", gpus.file().c_str(), 1);
  EXPECT_EQ(api.nvmlInit_v2(), kDriverNotLoaded);
  unsetenv("TRIODRILL_SHADOW_GPU_STATE");
}

TEST(NvmlStart, EndsWithTheLastUser) {
  const NvmlLibrary& api = NvmlLibrary::Get();
  ASSERT_EQ(api.missing, "");
  const GpuDir gpus;
  setenv("TRIODRILL_SHADOW_GPU_STATE", gpus.file().c_str(), 1);
  EXPECT_EQ(api.nvmlInit_v2(), kSuccess);
  EXPECT_EQ(api.nvmlInit_v2(), kSuccess);
  EXPECT_EQ(api.nvmlShutdown(), kSuccess);
  unsigned count = 0;
  EXPECT_EQ(api.nvmlDeviceGetCount_v2(&count), kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(api.nvmlShutdown(), kSuccess);
  EXPECT_EQ(api.nvmlDeviceGetCount_v2(&count), kUninitialized);
  unsetenv("TRIODRILL_SHADOW_GPU_STATE");
}

}  // namespace
}  // namespace triodrill::shadow::gpu
