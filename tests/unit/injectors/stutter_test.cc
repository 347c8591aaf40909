#include "injectors/cpu/stutter.h"
#include "injectors/environment/drift.h"

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
    if (injector_->Apply(record).ok()) static_cast<void>(::raise(SIGKILL));
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

class Drift : public Stutter {
 protected:
  v1::UndoRecord PreparedDrift(const Child& child) {
    auto record = drift_->Prepare(Aim("environment.drift", child.identity()));
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    return *record;
  }
  const std::unique_ptr<Injector> drift_ = MakeEnvironmentDrift({TRIODRILL_BIN_DIR "/triodrill-stutter", ""});
};

TEST_F(Drift, IsSeenAndTakenBackAsAStutterIs) {
  const Child child = Child::Busy();
  const v1::UndoRecord record = PreparedDrift(child);
  EXPECT_EQ(drift_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = drift_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_TRUE(Eventually([&] { return drift_->Inspect(record)->presence == Presence::kPresent; }));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(drift_->Revert(record).ok());
    ExpectGone(record, child);
  }
}

TEST_F(Drift, RefusesMoreThanADrift) {
  const Child child = Child::Idle();
  v1::AimedFault fault = Aim("environment.drift", child.identity());
  for (const double amplitude : {0.0, 0.5, 6.0}) {
    fault.mutable_with()->mutable_environment_drift()->set_amplitude(amplitude);
    EXPECT_TRUE(absl::IsInvalidArgument(drift_->Prepare(fault).status())) << amplitude;
  }
}

TEST(CycleAt, AWaveRisesAndFallsAndKeepsTheLengthOfACycle) {
  StutterOrder order;
  order.run = std::chrono::milliseconds(196);
  order.stop = std::chrono::milliseconds(4);
  EXPECT_EQ(CycleAt(order, std::chrono::seconds(3)).stop, order.stop) << "no wave";
  order.wave = std::chrono::seconds(8);
  const auto stop = [&](int seconds) { return CycleAt(order, std::chrono::seconds(seconds)).stop; };
  EXPECT_EQ(stop(0), std::chrono::milliseconds(2)) << "it shows from the first cycle on";
  EXPECT_EQ(stop(2), std::chrono::milliseconds(4));
  EXPECT_EQ(stop(6), Nanos(0));
  EXPECT_EQ(stop(10), stop(2));
  Nanos taken{0};
  for (int i = 0; i < 40; ++i) {
    const Cycle cycle = CycleAt(order, i * std::chrono::milliseconds(200));
    EXPECT_EQ(cycle.stop + cycle.run, order.stop + order.run);
    taken += cycle.stop;
  }
  EXPECT_NEAR(static_cast<double>(taken.count()), 8e9 * 0.01, 1e3) << "half the amplitude on average";
}

TEST(StutterOrder, SurvivesTheCommandLine) {
  StutterOrder order;
  order.common.token = "run/1.a.0/5@6";
  order.target.set_pid(5);
  order.target.set_start_time_ticks(6);
  order.target.set_pid_namespace_inode(7);
  order.common.parent = order.target;
  order.common.parent.set_pid(8);
  order.run = std::chrono::milliseconds(3);
  order.stop = std::chrono::milliseconds(4);
  order.wave = std::chrono::seconds(5);
  order.common.until = std::chrono::hours(9);
  const auto line = [](const StutterOrder& one) {
    std::vector<std::string> arguments = HelperArguments("p", one.common);
    const std::vector<std::string> more = StutterArguments(one);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const auto parsed = ParseStutterArguments(line(order));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(line(*parsed), line(order));
  EXPECT_FALSE(ParseStutterArguments({"p"}).ok());
  for (const char* wrong : {"--target=1:2:3", "--run-ns=-1", "--stop-ns=0", "--what=1", "--parent=x"}) {
    std::vector<std::string> arguments = line(order);
    arguments.emplace_back(wrong);
    EXPECT_FALSE(ParseStutterArguments(arguments).ok()) << wrong;
  }
}

}  // namespace
}  // namespace triodrill
