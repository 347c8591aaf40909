// gpu.dcgm_field against a stand-in of dcgmi, on a shadow GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "injectors/gpu/dcgm_field.h"
#include "injectors/gpu/dcgm_order.h"
#include "injectors/gpu/nvml.h"
#include "injectors/process/helper.h"
#include "injectors/process/run_to_end.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/dcgm_dir.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::ComputingOnGpu;
using testing::DcgmDir;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::RunProgram;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-dcgm";

std::string Message(const Status& status) { return std::string(status.message()); }

constexpr std::string_view kList =
    "2 GPUs found.\n"
    "+--------+----------------------------------------------------------------------+\n"
    "| GPU ID | Device Information                                                   |\n"
    "+--------+----------------------------------------------------------------------+\n"
    "| 0      | Name: NVIDIA H800                                                    |\n"
    "|        | PCI Bus ID: 00000000:18:00.0                                         |\n"
    "|        | Device UUID: GPU-34bf77d1-c686-6821-79a8-32d326c5039c                |\n"
    "+--------+----------------------------------------------------------------------+\n"
    "| 3      | Name: NVIDIA H800                                                    |\n"
    "|        | PCI Bus ID: 00000000:2A:00.0                                         |\n"
    "|        | Device UUID: GPU-927d7444-b45a-7c49-8402-5e686e46a026                |\n"
    "+--------+----------------------------------------------------------------------+\n"
    "0 NvSwitches found.\n+-----------+\n| Switch ID |\n+-----------+\n+-----------+\n";

TEST(DcgmText, FindsTheGpuByItsUuidAlone) {
  EXPECT_EQ(dcgm::GpuInList(kList, "GPU-927d7444-b45a-7c49-8402-5e686e46a026").value(), 3u);
  EXPECT_TRUE(absl::IsNotFound(dcgm::GpuInList(kList, "GPU-927d7444").status())) << "the whole of it";
  const auto none = dcgm::GpuInList("Error: unable to connect\n", "GPU-1");
  EXPECT_THAT(Message(none.status()), HasSubstr("unable to connect"));
}

TEST(DcgmText, ReadsTheRowOfTheGpu) {
  constexpr std::string_view kWatch =
      "#Entity   TMPTR       \nID        C           \nGPU 10    51  \nGPU 1     N/A  \n";
  EXPECT_EQ(dcgm::ShownValue(kWatch, 10).value(), "51");
  EXPECT_EQ(dcgm::ShownValue(kWatch, 1).value(), "N/A");
  EXPECT_TRUE(absl::IsNotFound(dcgm::ShownValue(kWatch, 0).status()));
}

TEST(DcgmText, TakesAValueForTheSameAsDcgmPrintsIt) {
  EXPECT_TRUE(dcgm::Shows("79", "79"));
  EXPECT_TRUE(dcgm::Shows("0.250", "0.25"));
  EXPECT_TRUE(dcgm::Shows("101", "101.7")) << "a field of whole numbers";
  EXPECT_FALSE(dcgm::Shows("45", "79"));
  EXPECT_FALSE(dcgm::Shows("N/A", "0"));
}

TEST(DcgmText, AsksInArgumentVectors) {
  const dcgm::Field field = {"/usr/bin/dcgmi", 3, 230, dcgm::ValueText(79)};
  EXPECT_THAT(dcgm::InjectArguments(field, 3), ElementsAre("/usr/bin/dcgmi", "test", "--inject", "--gpuid", "3", "-f",
                                                           "230", "-v", "79", "--offset", "3"));
  EXPECT_THAT(dcgm::WatchArguments(field), ElementsAre("/usr/bin/dcgmi", "dmon", "-e", "230", "-i", "3", "-c", "1"));
  EXPECT_EQ(dcgm::ValueText(0.1), "0.1");
  EXPECT_EQ(SecondsAhead(std::chrono::milliseconds(100)), 3) << "until the next one, and not much longer";
}

TEST(DcgmOrder, SurvivesItsArgumentVector) {
  DcgmOrder order;
  order.common = {"token", Aim("gpu.dcgm_field", IdentifyProcess(::getpid()).value()).target().process(), Nanos(5)};
  order.field = {"/opt/d c/dcgmi", 2, 150, "-0.5"};
  order.every = std::chrono::milliseconds(1500);
  std::vector<std::string> arguments = HelperArguments(kProgram, order.common);
  for (const std::string& one : DcgmArguments(order)) arguments.push_back(one);
  const auto parsed = ParseDcgmArguments(arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(DcgmArguments(*parsed), DcgmArguments(order));
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::vector<std::string> without = arguments;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDcgmArguments(without).status())) << arguments[i];
  }
}

TEST(RunToEnd, GivesWhatItSaidAndItsCode) {
  const auto end = RunToEnd({"/bin/ls", "/nowhere-at-all"}, std::chrono::seconds(10));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_NE(end->code, 0);
  EXPECT_THAT(end->text, HasSubstr("nowhere-at-all"));
  EXPECT_FALSE(RunToEnd({"/nowhere-at-all"}, std::chrono::seconds(10)).ok());
}

TEST(RunToEnd, DoesNotWaitForOneThatDoesNotEnd) {
  const auto end = RunToEnd({"/bin/sleep", "1000"}, std::chrono::milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(end.status())) << end.status();
}

class Dcgm : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(dcgm_.gpus().Held()); }
  v1::UndoRecord Prepared() {
    auto record = injector_->Prepare(Fault());
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
    return *record;
  }
  v1::AimedFault Fault() const { return Aim("gpu.dcgm_field", child_.identity()); }
  int Count(const v1::UndoRecord& record) const {
    const Helper helper(kDcgmProgram, kDcgmCount, kProgram);
    const auto programs = helper.Find(record.gpu().token());
    return programs.ok() ? helper.Count(*programs) : -1;
  }

  const DcgmDir dcgm_;
  const Child child_ = ComputingOnGpu(dcgm_.gpus().file());
  const std::unique_ptr<Injector> injector_ = MakeGpuDcgmField({kProgram, dcgm_.dcgmi()});
};

TEST_F(Dcgm, AnswersTheValueAgainAndAgainUntilItIsUndone) {
  const v1::UndoRecord record = Prepared();
  EXPECT_EQ(record.gpu().dcgm_gpu(), 6u) << "DCGM counts in its own way";
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  EXPECT_THAT(RunProgram({dcgm_.dcgmi(), "dmon", "-e", "230", "-i", "6", "-c", "1"}).out, HasSubstr(" 79 "));
  EXPECT_TRUE(Eventually([&] { return Count(record) >= 3; })) << Count(record);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_EQ(Count(record), 0);
  EXPECT_TRUE(injector_->Revert(record).ok()) << "any number of times";
}

TEST_F(Dcgm, DoesNotCallItLandedWhereDcgmAnswersAnotherValue) {
  const v1::UndoRecord record = Prepared();
  dcgm_.ForgetInjected();  // as an engine that drops it
  const Status applied = injector_->Apply(record);
  EXPECT_THAT(Message(applied), HasSubstr("DCGM answers 45, not 79"));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Dcgm, RefusesWithTheReason) {
  v1::AimedFault fault = Fault();
  const auto without = MakeGpuDcgmField({kProgram, "no-such-dcgmi"})->Prepare(fault);
  EXPECT_THAT(Message(without.status()), HasSubstr("find no-such-dcgmi: it is in none of"));
  dcgm_.WriteGpus("0 GPU-another\n");
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("it is none of them"));
  std::ofstream(dcgm_.dir() + "/dcgm/stopped") << "\n";
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("unable to establish a connection"));
  fault.mutable_with()->mutable_gpu_dcgm_field()->set_value(std::nan(""));
  EXPECT_TRUE(absl::IsInvalidArgument(injector_->Prepare(fault).status()));
}

TEST_F(Dcgm, EndsWithTheProcessThatAskedForIt) {
  const v1::UndoRecord record = Prepared();
  Child agent([&] { ::_exit(MakeGpuDcgmField({kProgram, dcgm_.dcgmi()})->Apply(record).ok() ? 0 : 1); });
  EXPECT_EQ(agent.Reap(), 0);
  EXPECT_TRUE(Eventually([&] { return Count(record) == 0; }));
}

}  // namespace
}  // namespace triodrill
