// The state file, its fields, and the kernel that obeys its clock.
#include <gtest/gtest.h>

#include <fstream>

#include "drills/shadow/gpu/reading.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/trainer/kernel.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"

namespace triodrill::shadow::gpu {
namespace {

using std::chrono::milliseconds;

Status WhyNot(const std::string& file) { return MappedState::Open(file, true).status(); }

void Overwrite(const std::string& file, std::streamoff at, const std::string& bytes) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(at);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(GpuState, IsTheSameForTheSameSeedAndNode) {
  const GpuDir one;
  const auto uuids = [&](const Making& making) {
    const std::string file = one.dir() + "/other.state";
    EXPECT_TRUE(MakeState(file, making, true).ok());
    std::vector<std::string> all;
    for (const Reading& reading : ReadAll(**MappedState::Open(file, false))) all.push_back(reading.uuid);
    return all;
  };
  const std::vector<std::string> first = uuids({2, 7, "n0"});
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(uuids({2, 7, "n0"}), first);
  EXPECT_NE(uuids({2, 7, "n1"})[0], first[0]);
  EXPECT_NE(uuids({2, 8, "n0"})[0], first[0]);
}

TEST(GpuState, IsNotReplacedUnasked) {
  const GpuDir gpus;
  gpus.Set(0, "temperature=70");
  EXPECT_TRUE(absl::IsAlreadyExists(MakeState(gpus.file(), {2, 7, "n0"}, false)));
  EXPECT_EQ(ReadAll(**MappedState::Open(gpus.file(), false))[0].temperature_c, 70U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(gpus.dir()), {}), 1) << "a file was left aside";
  EXPECT_TRUE(absl::IsInvalidArgument(MakeState(gpus.file(), {0, 7, "n0"}, true)));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeState(gpus.file(), {33, 7, "n0"}, true)));
}

TEST(GpuState, RefusesWhatIsTornForeignOrGone) {
  const GpuDir gpus;
  EXPECT_TRUE(absl::IsNotFound(WhyNot(gpus.dir() + "/none")));
  std::filesystem::resize_file(gpus.file(), sizeof(State) - 1);
  EXPECT_TRUE(absl::IsDataLoss(WhyNot(gpus.file()))) << WhyNot(gpus.file());
  std::filesystem::resize_file(gpus.file(), sizeof(State));
  EXPECT_TRUE(WhyNot(gpus.file()).ok());

  const std::streamoff uuid_of_1 = offsetof(State, gpus) + sizeof(Gpu);
  Overwrite(gpus.file(), uuid_of_1, "GPU-another");
  EXPECT_EQ(WhyNot(gpus.file()).message().find("is damaged") != std::string::npos, true) << WhyNot(gpus.file());

  ASSERT_TRUE(MakeState(gpus.file(), {2, 7, "n0"}, true).ok());
  Overwrite(gpus.file(), offsetof(State, version), std::string(1, static_cast<char>(kVersion + 1)));
  EXPECT_TRUE(absl::IsDataLoss(WhyNot(gpus.file())));
  Overwrite(gpus.file(), 0, "something");
  EXPECT_TRUE(absl::IsDataLoss(WhyNot(gpus.file())));
  std::filesystem::remove(gpus.file());
  std::filesystem::create_directory(gpus.file());
  EXPECT_FALSE(WhyNot(gpus.file()).ok());
}

TEST(GpuFields, RefuseWhatTheyCannotMean) {
  const GpuDir gpus;
  const Result<MappedState> state = MappedState::Open(gpus.file(), true);
  ASSERT_TRUE(state.ok());
  for (const char* const wrong : {"temperature", "colour=3", "temperature=", "temperature=hot", "temperature=151",
                                  "temperature+=1", "lost=2", "xid=-1", "ecc_sbe=1.5", "=3", "+=3"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SetField(**state, 0, wrong))) << wrong;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(SetField(**state, 2, "temperature=50")));
  EXPECT_TRUE(absl::IsInvalidArgument(SetField(**state, -1, "temperature=50")));
  EXPECT_EQ(ReadAll(**state)[0].temperature_c, 45U);
}

TEST(GpuFields, AreReadBack) {
  const GpuDir gpus;
  for (const char* const assignment :
       {"nvlink_replay+=3", "nvlink_crc_data=9", "xid=63", "xid=94", "sw_thermal=1", "rows_correctable+=4"}) {
    gpus.Set(1, assignment);
  }
  const Reading reading = ReadAll(**MappedState::Open(gpus.file(), false))[1];
  EXPECT_EQ(reading.nvlink[kLinkReplay], 3U);
  EXPECT_EQ(reading.nvlink[kLinkCrcData], 9U);
  EXPECT_EQ(reading.xid, 94U);
  EXPECT_EQ(reading.xid_count, 2U);
  EXPECT_EQ(reading.rows[kRowsCorrectable], 4U);
  EXPECT_EQ(reading.now.reasons, 0x20U);
  EXPECT_EQ(reading.now.sm_mhz, 1485U);
}

TEST(GpuModel, NeverRunsBelowItsLowestClock) {
  const GpuDir gpus;
  const Result<MappedState> state = MappedState::Open(gpus.file(), true);
  (*state)->gpus[0].locked_sm = PackRange(210, 210);
  gpus.Set(0, "temperature=95");
  EXPECT_EQ(ReadAll(**state)[0].now.sm_mhz, 210U);
}

TEST(GpuKernel, TakesLongerByTheClocksRatio) {
  const GpuDir gpus;
  const Result<HeldGpu> device = HeldGpu::Open(gpus.file(), 1);
  ASSERT_TRUE(device.ok()) << device.status();
  const Result<MappedState> state = MappedState::Open(gpus.file(), true);
  SystemClock clock;
  trainer::Orders orders;
  trainer::SimulatedKernel kernel(milliseconds(40), clock, orders, &*device);
  EXPECT_EQ(kernel.Duration(), milliseconds(40));
  (*state)->gpus[1].locked_sm = PackRange(600, 600);
  EXPECT_EQ(kernel.Duration(), milliseconds(132));  // 40 x 1980 / 600
  (*state)->gpus[1].locked_sm = 0;
  (*state)->gpus[1].limit_mw = 325'000;
  EXPECT_EQ(kernel.Duration(), milliseconds(80));
  (*state)->gpus[0].locked_sm = PackRange(210, 210);
  EXPECT_EQ(kernel.Duration(), milliseconds(80)) << "another GPU's lock";
  EXPECT_EQ(trainer::SimulatedKernel(milliseconds(40), clock, orders, nullptr).Duration(), milliseconds(40));
}

TEST(GpuKernel, FailsOnALostGpuAndWithoutOne) {
  const GpuDir gpus;
  EXPECT_TRUE(absl::IsInvalidArgument(HeldGpu::Open(gpus.file(), 2).status()));
  const Result<HeldGpu> device = HeldGpu::Open(gpus.file(), 0);
  ASSERT_TRUE(device.ok()) << device.status();
  SystemClock clock;
  trainer::Orders orders;
  trainer::SimulatedKernel kernel(milliseconds(1), clock, orders, &*device);
  EXPECT_TRUE(kernel.Run().ok());
  gpus.Set(0, "lost=1");
  const Status status = kernel.Run();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(std::string(status.message()).find("GPU 0 (GPU-"), std::string::npos) << status;
  EXPECT_TRUE(kernel.lost());
}

}  // namespace
}  // namespace triodrill::shadow::gpu
