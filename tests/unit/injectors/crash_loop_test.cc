#include "injectors/process/crash_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/os/clock.h"
#include "injectors/process/crash_loop_order.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-crashloop";

// Of this test alone, and the same in its children: others run beside it.
const std::string kJobName = Cat("triodrill-test-loop-", ::getpid());
std::string JobName() { return kJobName; }

class CrashLoop : public ::testing::Test {
 protected:
  v1::AimedFault Fault(const Child& child, const std::string& match) {
    v1::AimedFault fault = Aim("process.crash_loop", child.identity());
    fault.mutable_with()->mutable_process_crash_loop()->set_match(match);
    return fault;
  }
  v1::UndoRecord Prepared(const Child& child) {
    auto record = injector_->Prepare(Fault(child, Cat("^", JobName(), " ")));
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    return *record;
  }
  bool ProgramRuns(const v1::UndoRecord& record) {
    const auto found = Helper(kCrashLoopProgram, kCrashLoopCount, kProgram).Find(record.crash_loop().token());
    return !found.ok() || !found->empty();
  }
  void TearDown() override { SetProtectedCommands({}); }

  const std::unique_ptr<Injector> injector_ = MakeProcessCrashLoop(kProgram);
};

// The fault is applied by a process of its own, as by an agent: what this test starts is not of its family.
class Agent {
 public:
  Agent(Injector& injector, const v1::UndoRecord& record)
      : child_([&] {
          const bool applied = injector.Apply(record).ok();
          [[maybe_unused]] const ssize_t wrote = ::write(ready_.ends[1], applied ? "y" : "n", 1);
          while (true) ::pause();
        }) {}
  bool Applied() {
    char byte = 0;
    return ::read(ready_.ends[0], &byte, 1) == 1 && byte == 'y';
  }

 private:
  struct Pipe {
    Pipe() {
      if (::pipe(ends) != 0) ::abort();
    }
    ~Pipe() {
      ::close(ends[0]);
      ::close(ends[1]);
    }
    int ends[2];
  };
  Pipe ready_;
  Child child_;
};

bool Dead(const Child& child) { return child.State() == 'Z'; }

TEST_F(CrashLoop, KillsTheTargetAndWhateverLikeItAppears) {
  const Child target = Child::Named(JobName());
  const Child bystander = Child::Named(JobName() + "-other");
  const v1::UndoRecord record = Prepared(target);
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  Agent agent(*injector_, record);
  ASSERT_TRUE(agent.Applied());
  EXPECT_TRUE(Dead(target));
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  for (int again = 0; again < 3; ++again) {
    const Child next([] { ::execl("/bin/sleep", JobName().c_str(), "1000000", nullptr); });
    EXPECT_TRUE(Eventually([&] { return Dead(next); }));
  }
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("4 killed"));
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_FALSE(ProgramRuns(record));
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  }
  const Child survivor = Child::Named(JobName());
  EXPECT_FALSE(Dead(survivor));
  EXPECT_FALSE(Dead(bystander));
}

TEST_F(CrashLoop, LeavesAloneWhatThePolicyProtects) {
  SetProtectedCommands({Cat(JobName(), " 1000000 *$")});
  const Child target = Child::Named(JobName());
  const v1::UndoRecord record = Prepared(target);
  Agent agent(*injector_, record);
  ASSERT_TRUE(agent.Applied());
  EXPECT_TRUE(Dead(target)) << "whether the target may be one was asked elsewhere";
  const Child shielded = Child::Named(JobName());
  const Child victim([] { ::execl("/bin/sleep", JobName().c_str(), "999999", nullptr); });
  EXPECT_TRUE(Eventually([&] { return Dead(victim); })) << "it has been looking meanwhile";
  EXPECT_FALSE(Dead(shielded));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(CrashLoop, LetsAProcessLiveForAsLongAsItWasTold) {
  const Child target = Child::Named(JobName());
  v1::UndoRecord record = Prepared(target);
  auto& with = *record.mutable_fault()->mutable_with()->mutable_process_crash_loop();
  *with.mutable_let_live() = ToProto(std::chrono::milliseconds(300));
  Agent agent(*injector_, record);
  ASSERT_TRUE(agent.Applied());
  const Nanos begun = SinceBoot();
  const Child next = Child::Named(JobName());
  EXPECT_TRUE(Eventually([&] { return Dead(next); }));
  EXPECT_GE(SinceBoot() - begun, std::chrono::milliseconds(250));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(CrashLoop, EndsWithTheProcessThatAskedForItAndWithItsTime) {
  Child target = Child::Named(JobName());
  const v1::UndoRecord record = Prepared(target);
  Child agent([&] {
    if (injector_->Apply(record).ok()) static_cast<void>(::raise(SIGKILL));
  });
  EXPECT_EQ(WTERMSIG(agent.Reap()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return !ProgramRuns(record); }));

  const Child another = Child::Named(JobName());
  v1::UndoRecord brief = Prepared(another);
  brief.set_expires_boottime_ns((SinceBoot() + std::chrono::milliseconds(200)).count());
  ASSERT_TRUE(injector_->Apply(brief).ok());
  EXPECT_TRUE(Eventually([&] { return !ProgramRuns(brief); }));
  EXPECT_TRUE(injector_->Revert(brief).ok());
}

TEST_F(CrashLoop, RefusesAPatternThatIsNotTheTargets) {
  const Child target = Child::Named(JobName());
  EXPECT_THAT(std::string(injector_->Prepare(Fault(target, "")).status().message()), HasSubstr("no `match`"));
  EXPECT_THAT(std::string(injector_->Prepare(Fault(target, "(")).status().message()), HasSubstr("match '('"));
  EXPECT_THAT(std::string(injector_->Prepare(Fault(target, "^sshd")).status().message()),
              HasSubstr("does not match the target"));
}

TEST_F(CrashLoop, NeverKillsWhoAskedNorWhatBelongsToIt) {
  const Child target = Child::Named(JobName());
  auto record = Prepared(target);
  record.mutable_crash_loop()->set_match(Cat("^", JobName(), " |injectors_crash_loop_test"));
  const Child of_the_agent = Child::Named(JobName());
  Child agent([&] {
    const Child of_ours = Child::Named(JobName());
    const bool applied = injector_->Apply(record).ok();
    const bool killed = Eventually([&] { return Dead(of_the_agent); });  // it is this test's, not the agent's
    const bool kept = !Dead(of_ours) && injector_->Revert(record).ok();
    ::_exit(applied && killed && kept ? 0 : 1);
  });
  const int status = agent.Reap();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(CrashLoopOrder, SurvivesTheCommandLine) {
  CrashLoopOrder order;
  order.common.token = "t";
  order.common.parent.set_pid(8);
  order.common.until = Nanos(9);
  order.target.set_pid(5);
  order.match = "a=b --match=c";
  order.protect = {"x y", "=z"};
  order.let_live = Nanos(0);
  std::vector<std::string> line = HelperArguments("p", order.common);
  for (const std::string& argument : CrashLoopArguments(order)) line.push_back(argument);
  const auto parsed = ParseCrashLoopArguments(line);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->match, order.match);
  EXPECT_EQ(parsed->protect, order.protect);
  EXPECT_EQ(CrashLoopArguments(*parsed), CrashLoopArguments(order));
  line.push_back("--let-live-ns=-1");
  EXPECT_FALSE(ParseCrashLoopArguments(line).ok());
}

}  // namespace
}  // namespace triodrill
