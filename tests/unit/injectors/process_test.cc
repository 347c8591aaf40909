#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/os/file.h"
#include "injectors/process/kill.h"
#include "injectors/process/pause.h"
#include "injectors/process/process_identity.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;

std::string Message(const Status& status) { return std::string(status.message()); }

TEST(ProcessStat, IsReadAfterTheLastClosingParenthesisOfTheName) {
  const auto stat = ParseProcessStat("42 (a) R (b) T) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3\n");
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->name, "a) R (b) T");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->start_time_ticks, 987654u);
  EXPECT_FALSE(stat->kernel_thread);
}

TEST(ProcessStat, OfAnUnknownFormIsAnError) {
  for (const char* text : {"", "42", "42 (x", "42 (x) S 1 2", "x (y) S 7 42 42 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 9 1"}) {
    EXPECT_FALSE(ParseProcessStat(text).ok()) << text;
  }
}

TEST(ProcessStatus, HoldsTracerAndSignalSets) {
  const auto status = ParseProcessStatus(
      "Name:\tx\nTgid:\t9\nTracerPid:\t3\nSigPnd:\t0000000000040000\nShdPnd:\t0\nSigBlk:\t1\nSigIgn:\t2\n");
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->thread_group, 9);
  EXPECT_EQ(status->tracer, 3);
  EXPECT_TRUE(status->Pending(SIGSTOP));
  EXPECT_FALSE(status->Pending(SIGCONT));
  EXPECT_FALSE(ParseProcessStatus("Name:\tx\n").ok());
}

TEST(ProcessHandle, OpensExactlyTheProcessThatWasIdentified) {
  const Child child = Child::Idle();
  const auto handle = ProcessHandle::Open(child.identity());
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_FALSE(handle->Ended());
  child.Kill();
  EXPECT_TRUE(Eventually([&] { return handle->Ended(); }));
}

TEST(ProcessHandle, TakesAReusedPidForAnotherProcess) {
  const Child child = Child::Idle();
  v1::ProcessIdentity earlier = child.identity();
  earlier.set_start_time_ticks(earlier.start_time_ticks() - 1);
  const auto handle = ProcessHandle::Open(earlier);
  EXPECT_TRUE(absl::IsNotFound(handle.status())) << handle.status();
  EXPECT_THAT(Message(handle.status()), HasSubstr("its pid belongs to"));
}

TEST(ProcessHandle, RefusesAnIdentityOfAnotherPidNamespace) {
  const Child child = Child::Idle();
  v1::ProcessIdentity elsewhere = child.identity();
  elsewhere.set_pid_namespace_inode(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(ProcessHandle::Open(elsewhere).status()));
}

TEST(Targets, AreNeverInitNorThisProcessNorItsAncestors) {
  for (const pid_t pid : {pid_t{1}, ::getpid(), ::getppid()}) {
    const auto identity = IdentifyProcess(pid);
    if (!identity.ok()) continue;  // the parent may be outside this pid namespace
    EXPECT_TRUE(absl::IsPermissionDenied(CheckMayBeTarget(*identity))) << pid;
  }
}

TEST(Targets, AreNeverKernelThreads) {
  const auto thread = ReadProcessStat(2);
  if (!thread.ok() || !thread->kernel_thread) GTEST_SKIP() << "pid 2 is no kernel thread in this pid namespace";
  EXPECT_THAT(Message(CheckMayBeTarget(*IdentifyProcess(2))), HasSubstr("kernel thread"));
}

TEST(Targets, AreNeverProgramsThatWatchOrLetPeopleIn) {
  const Child child([] {
    ::signal(SIGTERM, SIG_DFL);
    FILE* name = ::fopen("/proc/self/comm", "w");
    ::fputs("sshd", name);
    static_cast<void>(::fclose(name));
    while (true) ::pause();
  });
  ASSERT_TRUE(Eventually([&] { return ReadProcessStat(child.pid())->name == "sshd"; }));
  EXPECT_THAT(Message(CheckMayBeTarget(child.identity())), HasSubstr("'sshd' is never a target"));
}

TEST(ProcessKill, EndsTheProcessAndSeesIt) {
  Child child = Child::Idle();
  const auto injector = MakeProcessKill();
  const auto record = injector->Prepare(Aim("process.kill", child.identity()));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(injector->Inspect(*record)->presence, Presence::kAbsent);
  ASSERT_TRUE(injector->Apply(*record).ok());
  EXPECT_TRUE(Eventually([&] { return injector->Inspect(*record)->presence == Presence::kPresent; }));
  const int status = child.Reap();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(injector->Inspect(*record)->presence, Presence::kPresent) << "gone stays gone after it was reaped";
  EXPECT_TRUE(injector->Revert(*record).ok());
}

TEST(ProcessKill, SendsTheSignalThatWasAskedFor) {
  Child child = Child::Idle();
  auto fault = Aim("process.kill", child.identity());
  fault.mutable_with()->mutable_process_kill()->set_signal("SIGABRT");
  const auto injector = MakeProcessKill();
  const auto record = injector->Prepare(fault);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_TRUE(injector->Apply(*record).ok());
  EXPECT_EQ(WTERMSIG(child.Reap()), SIGABRT);
}

TEST(ProcessKill, RefusesASignalThatWouldNotEndTheProcess) {
  const Child child = Child::Idle();
  auto fault = Aim("process.kill", child.identity());
  fault.mutable_with()->mutable_process_kill()->set_signal("SIGCONT");
  EXPECT_THAT(Message(MakeProcessKill()->Prepare(fault).status()), HasSubstr("signal 'SIGCONT'"));
}

TEST(ProcessKill, RefusesASignalThatTheProcessIgnores) {
  const Child child([] {
    ::signal(SIGTERM, SIG_IGN);
    while (true) ::pause();
  });
  auto fault = Aim("process.kill", child.identity());
  fault.mutable_with()->mutable_process_kill()->set_signal("SIGTERM");
  EXPECT_TRUE(Eventually([&] { return absl::IsFailedPrecondition(MakeProcessKill()->Prepare(fault).status()); }));
}

TEST(ProcessKill, DoesNotTouchAStrangerWithTheSamePid) {
  const Child child = Child::Idle();
  const auto injector = MakeProcessKill();
  auto record = injector->Prepare(Aim("process.kill", child.identity()));
  ASSERT_TRUE(record.ok());
  auto* who = record->mutable_fault()->mutable_target()->mutable_process();
  who->set_start_time_ticks(who->start_time_ticks() - 1);
  EXPECT_FALSE(injector->Apply(*record).ok());
  EXPECT_NE(child.State(), 'Z');
}

TEST(ProcessPause, StopsEveryThreadAndLetsThemRunAgain) {
  const Child child = Child::Idle(4);
  const auto injector = MakeProcessPause();
  const auto record = injector->Prepare(Aim("process.pause", child.identity()));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(injector->Inspect(*record)->presence, Presence::kAbsent);
  ASSERT_TRUE(injector->Apply(*record).ok());
  EXPECT_TRUE(Eventually([&] { return injector->Inspect(*record)->presence == Presence::kPresent; }));
  // A sanitizer has threads of its own in there.
  const auto threads = ListDirectory(Cat("/proc/", child.pid(), "/task"));
  ASSERT_TRUE(threads.ok() && threads->size() >= 4) << threads.status();
  EXPECT_EQ(injector->Inspect(*record)->evidence, Cat(threads->size(), " of ", threads->size(), " threads stopped"));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(injector->Revert(*record).ok());
    EXPECT_EQ(injector->Inspect(*record)->presence, Presence::kAbsent);
  }
  EXPECT_TRUE(child.Runs());
}

TEST(ProcessPause, TakesBackAStopThatHasNotBeenTakenYet) {
  const Child child = Child::Busy();
  const auto injector = MakeProcessPause();
  const auto record = injector->Prepare(Aim("process.pause", child.identity()));
  ASSERT_TRUE(record.ok()) << record.status();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(injector->Apply(*record).ok());
    ASSERT_TRUE(injector->Revert(*record).ok());
    ASSERT_EQ(injector->Inspect(*record)->presence, Presence::kAbsent);
    ASSERT_NE(child.State(), 'T');
  }
}

TEST(ProcessPause, RefusesAProcessThatIsStoppedAlready) {
  const Child child = Child::Idle();
  ::kill(child.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return child.State() == 'T'; }));
  EXPECT_THAT(Message(MakeProcessPause()->Prepare(Aim("process.pause", child.identity())).status()),
              HasSubstr("stopped already"));
}

TEST(ProcessPause, RefusesATracedProcess) {
  const Child child = Child::Idle();
  if (::ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) != 0) GTEST_SKIP() << "ptrace is not allowed here";
  EXPECT_THAT(Message(MakeProcessPause()->Prepare(Aim("process.pause", child.identity())).status()),
              HasSubstr("traced by pid"));
  ::ptrace(PTRACE_DETACH, child.pid(), nullptr, nullptr);
}

TEST(ProcessPause, OwesNothingOnceTheTargetIsGone) {
  Child child = Child::Idle();
  const auto injector = MakeProcessPause();
  const auto record = injector->Prepare(Aim("process.pause", child.identity()));
  ASSERT_TRUE(record.ok());
  ASSERT_TRUE(injector->Apply(*record).ok());
  child.Kill();
  child.Reap();
  EXPECT_TRUE(injector->Revert(*record).ok());
  const auto effect = injector->Inspect(*record);
  ASSERT_TRUE(effect.ok());
  EXPECT_EQ(effect->presence, Presence::kAbsent);
  EXPECT_THAT(effect->evidence, HasSubstr("is gone"));
}

TEST(ProcessPause, DoesNotContinueAStrangerThatSomebodyElseStopped) {
  const Child stranger = Child::Idle();
  const auto injector = MakeProcessPause();
  auto record = injector->Prepare(Aim("process.pause", stranger.identity()));
  ASSERT_TRUE(record.ok());
  auto* who = record->mutable_fault()->mutable_target()->mutable_process();
  who->set_start_time_ticks(who->start_time_ticks() - 1);
  ::kill(stranger.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return stranger.State() == 'T'; }));
  EXPECT_TRUE(injector->Revert(*record).ok());
  EXPECT_EQ(stranger.State(), 'T');
}

TEST(ProcessPause, OfAnEarlierBootIsOverAndTouchesNobody) {
  const Child child = Child::Idle();
  const auto injector = MakeProcessPause();
  auto record = injector->Prepare(Aim("process.pause", child.identity()));
  ASSERT_TRUE(record.ok());
  record->set_boot_id("00000000-0000-0000-0000-000000000000");
  ::kill(child.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return child.State() == 'T'; }));
  EXPECT_TRUE(injector->Revert(*record).ok());
  EXPECT_THAT(injector->Inspect(*record)->evidence, HasSubstr("earlier boot"));
  EXPECT_EQ(child.State(), 'T');
}

}  // namespace
}  // namespace triodrill
