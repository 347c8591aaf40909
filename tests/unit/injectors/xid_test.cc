// gpu.xid on shadow GPUs, and a file that stands for the kernel's log.
#include "injectors/gpu/xid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drills/shadow/gpu/nvml_abi.h"
#include "injectors/gpu/kernel_log.h"
#include "injectors/gpu/nvml.h"
#include "injectors/gpu/xid_line.h"
#include "injectors/journal/settle.h"
#include "injectors/os/file.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"

namespace triodrill {
namespace {

namespace theirs = shadow::gpu::nvml;
using testing::Aim;
using testing::Child;
using ::testing::EndsWith;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

static_assert(sizeof(nvml::PciInfo) == sizeof(theirs::PciInfo));
static_assert(offsetof(nvml::PciInfo, domain) == offsetof(theirs::PciInfo, domain));
static_assert(offsetof(nvml::PciInfo, device) == offsetof(theirs::PciInfo, device));

nvml::PciInfo At(unsigned domain, unsigned bus, unsigned device) {
  nvml::PciInfo where{};
  where.domain = domain;
  where.bus = bus;
  where.device = device;
  return where;
}

TEST(XidLine, IsTheDriversToTheByte) {
  EXPECT_EQ(XidLine(At(0, 4, 0), 79, 1582259, "nvc"),
            "NVRM: Xid (PCI:0000:04:00): 79, pid=1582259, name=nvc, GPU has fallen off the bus.");
  EXPECT_EQ(XidLine(At(1, 0xe1, 0x1f), 999, 7, "pt, x=\n)"), "NVRM: Xid (PCI:0001:e1:1f): 999, pid=7, name=pt__x___");
}

TEST(XidLine, FitsIntoOneRecordOfTheKernelLog) {
  for (int xid = 1; xid < 200; ++xid) {
    EXPECT_LT(XidLine(At(0xffffffff, 0xff, 0x1f), xid, 4194304, std::string(15, 'x')).size(), 900U) << xid;
  }
}

TEST(KernelRecord, HasANumberAndAText) {
  const auto record = ParseKernelRecord("11,1409,268431,-;NVRM: Xid (PCI:0000:04:00): 79, a; b\n SUBSYSTEM=pci\n");
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->number, 1409U);
  EXPECT_EQ(record->text, "NVRM: Xid (PCI:0000:04:00): 79, a; b");
  for (const char* broken : {"", "11,1409,2", "11;x", "11,x,1,-;text"}) EXPECT_FALSE(ParseKernelRecord(broken).ok());
}

// Only read: what is written there stays on this machine.
TEST(KernelLogDevice, IsReadToItsEnd) {
  if (::access("/dev/kmsg", R_OK) != 0) GTEST_SKIP() << "no /dev/kmsg that may be read";
  const auto end = EndOfKernelLog("/dev/kmsg");
  if (!end.ok()) GTEST_SKIP() << end.status();
  const auto there = IsInKernelLog("/dev/kmsg", "a line that nobody writes", *end);
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_FALSE(*there);
}

// A process that holds GPU 1 of two, until its end.
Child Computing(const std::string& file) {
  return Child([file] {
    const auto held = shadow::gpu::HeldGpu::Open(file, 1);
    while (held.ok()) ::pause();
  });
}

class Xid : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TRIODRILL_SHADOW_GPU_STATE", gpus_.file().c_str(), 1);
    SetNvmlLibrary(TRIODRILL_SHADOW_NVML);
    SetKernelLog(log_);
    std::ofstream(log_) << "usb 1-1: a line of somebody else's\n";
    ASSERT_TRUE(Eventually([&] { return (*state_)->gpus[1].processes[0] != 0; }));
  }
  void TearDown() override { ::unsetenv("TRIODRILL_SHADOW_GPU_STATE"); }
  v1::AimedFault Fault() const { return Aim("gpu.xid", child_.identity()); }
  v1::UndoRecord Prepared() const {
    const auto record = injector_->Prepare(Fault());
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : v1::UndoRecord();
  }

  const TemporaryDirectory directory_;
  const std::string log_ = directory_.path() + "/kmsg";
  const shadow::gpu::GpuDir gpus_;
  const Child child_ = Computing(gpus_.file());
  const Result<shadow::gpu::MappedState> state_ = shadow::gpu::MappedState::Open(gpus_.file(), true);
  const std::unique_ptr<Injector> injector_ = MakeGpuXid();
};

TEST_F(Xid, WritesOneLineOfTheGpuOnWhichTheTargetComputes) {
  const v1::UndoRecord record = Prepared();
  EXPECT_THAT(record.resource(), HasSubstr((*state_)->gpus[1].identity.uuid));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  // Its bus id is 00000000:XX:00.0.
  std::string bus = std::string((*state_)->gpus[1].identity.bus_id).substr(9, 2);
  for (char& c : bus) c = static_cast<char>(std::tolower(c));
  const std::string line = Cat("NVRM: Xid (PCI:0000:", bus, ":00): 79, pid=", child_.pid(), ", name=");
  EXPECT_THAT(*ReadFile(log_), HasSubstr("somebody else's\n" + line));
  EXPECT_THAT(*ReadFile(log_), EndsWith(", GPU has fallen off the bus.\n"));
  EXPECT_EQ((*state_)->gpus[1].lost.load(), 0U) << "the GPU is well";
  EXPECT_EQ(Settle(*injector_, record).debt, Debt::kNone);
  EXPECT_THAT(*ReadFile(log_), HasSubstr(line)) << "what was said was said";
}

TEST_F(Xid, IsNotProvedByALineFromBefore) {
  ASSERT_TRUE(injector_->Apply(Prepared()).ok());
  const v1::UndoRecord again = Prepared();
  EXPECT_EQ(injector_->Inspect(again)->presence, Presence::kAbsent);
  ASSERT_TRUE(injector_->Apply(again).ok());
  EXPECT_EQ(injector_->Inspect(again)->presence, Presence::kPresent);
}

TEST_F(Xid, RefusesWhatIsNoLogAndMakesNone) {
  SetKernelLog(directory_.path());
  EXPECT_FALSE(injector_->Prepare(Fault()).ok());
  SetKernelLog(directory_.path() + "/none");
  EXPECT_THAT(std::string(injector_->Prepare(Fault()).status().message()), HasSubstr("open the kernel log"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/none"));
  EXPECT_FALSE(ProbeGpuXid().possible());
  SetKernelLog(log_);
  EXPECT_TRUE(ProbeGpuXid().possible()) << ProbeGpuXid().reason();
}

TEST_F(Xid, RefusesAProcessThatComputesOnNoGpu) {
  const Child idle = Child::Idle();
  EXPECT_THAT(std::string(injector_->Prepare(Aim("gpu.xid", idle.identity())).status().message()),
              HasSubstr("has a context on none"));
}

}  // namespace
}  // namespace triodrill
