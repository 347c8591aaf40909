#include "injectors/cpu/leak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "injectors/cpu/leak_order.h"
#include "injectors/os/cgroup.h"
#include "injectors/os/file.h"
#include "injectors/os/memory.h"
#include "injectors/process/helper.h"
#include "injectors/process/process_identity.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-leak";
constexpr int64_t kMiB = int64_t{1} << 20;

std::string Message(const Status& status) { return std::string(status.message()); }

TEST(MemoryBounds, AreTheNodesAndThoseOfTheCgroup) {
  const auto node = ParseNodeMemory("MemTotal:       1024 kB\nMemFree:  1 kB\nMemAvailable:    512 kB\n");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->total, 1024 * 1024);
  EXPECT_EQ(node->available, 512 * 1024);
  EXPECT_FALSE(ParseNodeMemory("MemTotal: 1024 kB\n").ok()) << "what is not known is not guessed";
  const auto v1 = ParseCgroupMemory("1000\n", "700\n", "cache 1\ninactive_file 5\ntotal_inactive_file 200\n", 5000);
  ASSERT_TRUE(v1.ok()) << v1.status();
  EXPECT_EQ(v1->available, 500);
  const auto v2 = ParseCgroupMemory("1000\n", "700\n", "anon 3\ninactive_file 100\n", 5000);
  EXPECT_EQ(v2->available, 400);
  EXPECT_EQ(ParseCgroupMemory("max\n", "700\n", "", 5000)->total, 0);
  EXPECT_EQ(ParseCgroupMemory("9223372036854771712\n", "700\n", "", 5000)->total, 0) << "v1's word for none";
  EXPECT_FALSE(ParseCgroupMemory("much\n", "700\n", "", 5000).ok());
}

TEST(MemoryBounds, LeaveTheReserveOfTheTightest) {
  EXPECT_EQ(RoomWithin({{1000, 600}, {400, 300}, {0, 0}}, 0.1), 260);
  EXPECT_EQ(RoomWithin({{1000, 600}, {400, 30}}, 0.1), -10) << "it is touched already";
}

TEST(MemoryBounds, OfThisProcessAreRead) {
  const auto bounds = ReadMemoryBounds("");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  ASSERT_EQ(bounds->size(), 1u);
  EXPECT_GT(bounds->front().total, bounds->front().available);
  EXPECT_GT(ResidentBytes(::getpid()).value_or(0), 0);
}

TEST(LeakOrder, GrowsToItsBoundAndGivesBackWhenTheReserveIsTouched) {
  LeakOrder order;
  order.bytes_per_second = 10 * kMiB;
  order.most_bytes = 15 * kMiB;
  const int64_t plenty = 1000 * kMiB;
  EXPECT_EQ(PiecesAt(order, std::chrono::milliseconds(500), 1, plenty), 5);
  EXPECT_EQ(PiecesAt(order, std::chrono::seconds(9), 1, plenty), 15);
  EXPECT_EQ(PiecesAt(order, std::chrono::milliseconds(10), 1, plenty), 1) << "what it holds it keeps";
  EXPECT_EQ(PiecesAt(order, std::chrono::seconds(9), 5, 2 * kMiB), 7);
  EXPECT_EQ(PiecesAt(order, std::chrono::seconds(9), 5, -1), 4);
  EXPECT_EQ(PiecesAt(order, std::chrono::seconds(9), 5, -plenty), 0);
}

TEST(LeakOrder, SurvivesItsArgumentVector) {
  LeakOrder order;
  order.common = {"token", Aim("cpu.leak", IdentifyProcess(::getpid()).value()).target().process(), Nanos(5)};
  order.cgroup = "/sys/fs/cgroup/a b";
  order.bytes_per_second = 3 * kMiB;
  order.most_bytes = 7 * kMiB;
  order.reserve = 0.125;
  std::vector<std::string> arguments = HelperArguments(kProgram, order.common);
  for (const std::string& one : LeakArguments(order)) arguments.push_back(one);
  const auto parsed = ParseLeakArguments(arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->cgroup, order.cgroup);
  EXPECT_EQ(parsed->bytes_per_second, order.bytes_per_second);
  EXPECT_EQ(parsed->most_bytes, order.most_bytes);
  EXPECT_EQ(parsed->reserve, order.reserve);
  arguments.back() = "--reserve-millionths=0";
  EXPECT_FALSE(ParseLeakArguments(arguments).ok());
}

class Leak : public ::testing::Test {
 protected:
  v1::AimedFault Fault() { return Aim("cpu.leak", child_.identity()); }
  v1::UndoRecord Prepared() {
    auto record = injector_->Prepare(Fault());
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
    return *record;
  }
  std::vector<ProcessHandle> Programs(const v1::UndoRecord& record) {
    auto found = Helper(kLeakProgram, kLeakPieces, kProgram).Find(record.leak().token());
    return found.ok() ? std::move(*found) : std::vector<ProcessHandle>();
  }
  int Pieces(const v1::UndoRecord& record) {
    return Helper(kLeakProgram, kLeakPieces, kProgram).Count(Programs(record));
  }

  Child child_ = Child::Idle();
  const std::unique_ptr<Injector> injector_ = MakeCpuLeak(kProgram);
};

TEST_F(Leak, GrowsToItsBoundAndAllOfItComesBack) {
  const v1::UndoRecord record = Prepared();
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent) << injector_->Inspect(record)->evidence;
  EXPECT_TRUE(Eventually([&] { return Pieces(record) == 8; })) << Pieces(record);
  const auto programs = Programs(record);
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_GE(ResidentBytes(programs[0].identity().pid()).value_or(0), 8 * kMiB);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("written 8388608 B"));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(injector_->Revert(record).ok());
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  }
  EXPECT_TRUE(programs[0].Ended());
  EXPECT_TRUE(child_.Runs()) << "the target itself is left alone";
}

TEST_F(Leak, IsTheFirstThatTheOomKillerTakesAndStandsInTheTargetsCgroup) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  const auto programs = Programs(record);
  ASSERT_EQ(programs.size(), 1u);
  const pid_t pid = programs[0].identity().pid();
  EXPECT_EQ(ReadFile(Cat("/proc/", pid, "/oom_score_adj")).value_or(""), "1000\n");
  const auto own = FindCgroup(pid, "memory");
  const auto targets = FindCgroup(child_.pid(), "memory");
  EXPECT_EQ(own.ok(), targets.ok());
  if (own.ok() && targets.ok()) {
    EXPECT_EQ(own->directory, targets->directory);
  }
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Leak, IsGoneWithItsProgram) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  const auto programs = Programs(record);
  ASSERT_EQ(programs.size(), 1u);
  ASSERT_TRUE(programs[0].Signal(SIGKILL).ok());
  EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kAbsent; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Leak, IsRefusedWhereNothingMayBeTaken) {
  const auto bounds = ReadMemoryBounds("");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  // The program itself and this test take some, too.
  if (RoomWithin(*bounds, 0.99) > -8 * kMiB) GTEST_SKIP() << "nearly all of this machine's memory is free";
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_cpu_leak()->set_reserve(99);
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("nothing can be taken"));
}

TEST_F(Leak, RefusesWhatMakesNoSense) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_cpu_leak()->set_most(kMiB - 1);
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("at least 1 MiB"));
  fault = Fault();
  child_.Kill();
  child_.Reap();
  EXPECT_FALSE(injector_->Prepare(fault).ok());
}

TEST_F(Leak, DoesNotBeginWhereTheTargetHasEnded) {
  const v1::UndoRecord record = Prepared();
  child_.Kill();
  child_.Reap();
  EXPECT_FALSE(injector_->Apply(record).ok());
  EXPECT_TRUE(Programs(record).empty());
}

}  // namespace
}  // namespace triodrill
