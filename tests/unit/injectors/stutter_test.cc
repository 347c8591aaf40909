#include "injectors/cpu/stutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/cpu/stutter_order.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The processes that carry the record's token.
std::vector<pid_t> Programs(const v1::UndoRecord& record) {
  std::vector<pid_t> pids;
  const std::string argument = TokenArgument(record.stutter().token());
  const auto names = ListDirectory("/proc");
  for (const std::string& name : *names) {
    const auto command = ReadFile(Cat("/proc/", name, "/cmdline"));
    if (command.ok() && command->find(argument) != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

std::string Name(pid_t pid) {
  const auto stat = ReadProcessStat(pid);
  return stat.ok() ? stat->name : "";
}

class Stutter : public ::testing::Test {
 protected:
  v1::UndoRecord Prepared(const Child& child) {
    auto record = injector_->Prepare(Aim("cpu.stutter", child.identity()));
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    return *record;
  }
  void ExpectLanded(const v1::UndoRecord& record) {
    EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kPresent; }));
  }
  // Running, nothing of ours left, and it stays so.
  void ExpectGone(const v1::UndoRecord& record, const Child& child) {
    EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
    EXPECT_NE(child.State(), 'T');
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  }
  const std::unique_ptr<Injector> injector_ = MakeCpuStutter(TRIODRILL_BIN_DIR "/triodrill-stutter");
};

TEST_F(Stutter, IsProvedByAWholeCycleAndLeavesTheTargetRunning) {
  const Child child = Child::Busy();
  const v1::UndoRecord record = Prepared(child);
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  ExpectLanded(record);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("seen stopped and running again"));
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_THAT(Programs(record), IsEmpty());
    ExpectGone(record, child);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "the program was reaped; only the target is left as a child";
}

TEST_F(Stutter, LeavesNothingStoppedWhenEitherOfItsProcessesIsKilled) {
  for (const bool keeper : {true, false}) {
    const Child child = Child::Idle(3);
    const v1::UndoRecord record = Prepared(child);
    ASSERT_TRUE(injector_->Apply(record).ok());
    ExpectLanded(record);
    const std::vector<pid_t> programs = Programs(record);
    ASSERT_THAT(programs, SizeIs(2));
    for (const pid_t pid : programs) {
      if (Name(pid).starts_with(kStutterCycles) != keeper) ::kill(pid, SIGKILL);
    }
    EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
    EXPECT_TRUE(Eventually([&] { return child.State() == 'S'; })) << child.State();
    EXPECT_TRUE(injector_->Revert(record).ok());
    ExpectGone(record, child);
  }
}

TEST_F(Stutter, IsUndoneFromTheRecordWhenBothOfItsProcessesAreKilled) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  for (const pid_t pid : Programs(record)) ::kill(pid, SIGKILL);
  ::kill(child.pid(), SIGSTOP);  // as bad as it can get
  ASSERT_TRUE(Eventually([&] { return child.State() == 'T' && Programs(record).empty(); }));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  ASSERT_TRUE(injector_->Revert(record).ok());
  ExpectGone(record, child);
}

TEST_F(Stutter, EndsByItselfWhenToldToByASignal) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  for (const pid_t pid : Programs(record)) {
    if (!Name(pid).starts_with(kStutterCycles)) ::kill(pid, SIGINT);
  }
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && child.State() == 'S'; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Stutter, EndsWhenItsTimeIsUp) {
  const Child child = Child::Idle();
  v1::UndoRecord record = Prepared(child);
  record.set_expires_boottime_ns((SinceBoot() + std::chrono::milliseconds(200)).count());
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && child.State() == 'S'; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Stutter, EndsWithTheTarget) {
  Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  ASSERT_TRUE(injector_->Apply(record).ok());
  child.Kill();
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  child.Reap();
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
}

TEST_F(Stutter, EndsWithTheProcessThatAskedForIt) {
  const Child child = Child::Idle();
  const v1::UndoRecord record = Prepared(child);
  Child agent([&] {
    if (injector_->Apply(record).ok()) ::raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(agent.Reap()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty() && child.State() == 'S'; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
  ExpectGone(record, child);
}

TEST_F(Stutter, IsNotAppliedWithoutAMaximum) {
  const Child child = Child::Idle();
  v1::UndoRecord record = Prepared(child);
  record.set_max_hold_ns(0);
  EXPECT_TRUE(absl::IsInvalidArgument(injector_->Apply(record)));
  EXPECT_THAT(Programs(record), IsEmpty());
}

TEST_F(Stutter, SaysThatItsProgramIsMissing) {
  const Child child = Child::Idle();
  const auto record = MakeCpuStutter("/nowhere/triodrill-stutter")->Prepare(Aim("cpu.stutter", child.identity()));
  EXPECT_THAT(std::string(record.status().message()), HasSubstr("/nowhere/triodrill-stutter"));
}

TEST_F(Stutter, TellsWhyTheProgramCouldNotStart) {
  const Child child = Child::Idle();
  v1::UndoRecord record = Prepared(child);
  auto* who = record.mutable_fault()->mutable_target()->mutable_process();
  who->set_start_time_ticks(who->start_time_ticks() - 1);
  EXPECT_THAT(std::string(injector_->Apply(record).message()), HasSubstr("its pid belongs to"));
  EXPECT_NE(child.State(), 'T');
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST(StutterOrder, SurvivesTheCommandLine) {
  StutterOrder order;
  order.token = "run/1.a.0/5@6";
  order.target.set_pid(5);
  order.target.set_start_time_ticks(6);
  order.target.set_pid_namespace_inode(7);
  order.parent = order.target;
  order.parent.set_pid(8);
  order.run = std::chrono::milliseconds(3);
  order.stop = std::chrono::milliseconds(4);
  order.until = std::chrono::hours(9);
  const auto parsed = ParseStutterArguments(StutterArguments("p", order));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(StutterArguments("p", *parsed), StutterArguments("p", order));
  EXPECT_FALSE(ParseStutterArguments({"p"}).ok());
  EXPECT_FALSE(ParseStutterArguments({"p", "--token=x", "--target=1:2:3"}).ok()) << "init is not a target";
  EXPECT_FALSE(ParseStutterArguments({"p", "--run-ns=-1"}).ok());
  EXPECT_FALSE(ParseStutterArguments({"p", "--what=1"}).ok());
}

}  // namespace
}  // namespace triodrill
