#include "injectors/process/oom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "injectors/os/cgroup.h"
#include "injectors/process/exit_agent.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::LaunchedChild;

std::string Message(const Status& status) { return std::string(status.message()); }

class Oom : public ::testing::Test {
 protected:
  void SetUp() override {
    const v1::Capability capability = ProbeProcessOom();
    if (!capability.possible()) GTEST_SKIP() << capability.reason();
  }
  // Whatever the test found: nothing of it stays.
  void TearDown() override {
    if (record_.has_cgroup()) {
      EXPECT_TRUE(injector_->Revert(record_).ok());
      EXPECT_FALSE(std::filesystem::exists(record_.cgroup().made_directory()));
    }
  }
  Status Apply(const Child& child, double headroom = 0) {
    v1::AimedFault fault = Aim("process.oom", child.identity());
    fault.mutable_with()->mutable_process_oom()->set_headroom(headroom);
    TRIODRILL_ASSIGN_OR_RETURN(record_, injector_->Prepare(fault));
    return injector_->Apply(record_);
  }
  Presence Seen() const {
    const auto effect = injector_->Inspect(record_);
    EXPECT_TRUE(effect.ok()) << effect.status();
    return effect.ok() ? effect->presence : Presence::kForeign;
  }

  const std::unique_ptr<Injector> injector_ = MakeProcessOom();
  v1::UndoRecord record_;
};

TEST_F(Oom, EndsAProcessThatNeedsMemory) {
  Child child = Child::Growing();
  const Status applied = Apply(child);
  ASSERT_TRUE(applied.ok()) << applied;
  ASSERT_TRUE(Eventually([&] { return Seen() == Presence::kPresent; })) << injector_->Inspect(record_)->evidence;
  EXPECT_THAT(injector_->Inspect(record_)->evidence, HasSubstr("oom_kill 1"));
  const int status = child.Reap();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(Seen(), Presence::kPresent) << "also when nobody holds its remains any more";
  EXPECT_TRUE(injector_->Revert(record_).ok());
  EXPECT_EQ(Seen(), Presence::kAbsent);
  EXPECT_TRUE(injector_->Revert(record_).ok());
}

TEST_F(Oom, LeavesTheHeadroomThatWasAsked) {
  const Child child = Child::Idle();
  ASSERT_TRUE(Apply(child, 1000).ok());
  EXPECT_GT(record_.cgroup().limit_bytes(), 0);
  EXPECT_EQ(Seen(), Presence::kAbsent) << "it wants nothing";
  EXPECT_THAT(injector_->Inspect(record_)->evidence, HasSubstr("is alive"));
}

TEST_F(Oom, GivesBackAProcessThatWasNotKilled) {
  const Child child = Child::Idle(2);
  const std::string before = FindCgroup(child.pid(), "memory")->directory;
  ASSERT_TRUE(Apply(child, 1000).ok());
  EXPECT_EQ(FindCgroup(child.pid(), "memory")->directory, record_.cgroup().made_directory());
  ASSERT_TRUE(injector_->Revert(record_).ok());
  EXPECT_EQ(FindCgroup(child.pid(), "memory")->directory, before);
  EXPECT_NE(child.State(), 'Z');
}

TEST_F(Oom, RefusesAProcessThatTheKillerMayNotChoose) {
  const Child child = Child::Idle();
  std::ofstream adjust("/proc/" + std::to_string(child.pid()) + "/oom_score_adj");
  adjust << "-1000" << std::flush;
  if (!adjust.good()) GTEST_SKIP() << "lowering oom_score_adj needs CAP_SYS_RESOURCE";
  EXPECT_THAT(Message(Apply(child)), HasSubstr("kept from the OOM killer"));
}

class ExitAgent : public ::testing::Test {
 protected:
  Result<v1::UndoRecord> Prepare(const std::string& match = "^triodrill-test-job ") {
    v1::AimedFault fault = Aim("process.exit_agent", launched_.rank());
    fault.mutable_with()->mutable_process_exit_agent()->set_match(match);
    return injector_->Prepare(fault);
  }
  const std::unique_ptr<Injector> injector_ = MakeProcessExitAgent();
  LaunchedChild launched_{"triodrill-test-job"};
};

TEST_F(ExitAgent, EndsTheLauncherAboveTheRank) {
  const auto record = Prepare();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->launcher().launcher().pid(), launched_.launcher().pid());
  EXPECT_EQ(injector_->Inspect(*record)->presence, Presence::kAbsent);
  ASSERT_TRUE(injector_->Apply(*record).ok());
  EXPECT_TRUE(Eventually([&] { return injector_->Inspect(*record)->presence == Presence::kPresent; }));
  EXPECT_TRUE(injector_->Revert(*record).ok());
  EXPECT_FALSE(injector_->Apply(*record).ok()) << "nothing is sent to a process that has ended";
}

TEST_F(ExitAgent, RefusesWhereNothingAboveTheRankMatches) {
  EXPECT_THAT(Message(Prepare("no-such-launcher").status()), HasSubstr("no process above pid"));
  EXPECT_THAT(Message(Prepare("").status()), HasSubstr("write one"));
  EXPECT_THAT(Message(Prepare("(").status()), HasSubstr("match '('"));
}

TEST_F(ExitAgent, NeverEndsThisProcessOrOneAboveIt) {
  // The launcher's own parent is this test.
  EXPECT_THAT(Message(Prepare("injectors_oom_test").status()), HasSubstr("an ancestor of it"));
}

TEST_F(ExitAgent, RefusesASignalThatEndsNothing) {
  v1::AimedFault fault = Aim("process.exit_agent", launched_.rank());
  fault.mutable_with()->mutable_process_exit_agent()->set_signal("SIGCHLD");
  EXPECT_THAT(Message(injector_->Prepare(fault).status()), HasSubstr("not one that ends a process"));
}

}  // namespace
}  // namespace triodrill
