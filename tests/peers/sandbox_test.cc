// The sandbox of the embedded partition, for real: what it builds, what dies with what, what it leaves behind
// (nothing).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coordinator/engines/state_dir.h"
#include "coordinator/os/child_process.h"
#include "tests/peers/embedded.h"
#include "triodrill/text.h"

namespace triodrill::testing_embedded {
namespace {

using engines::Lifetime;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Sandbox : public Embedded {};

// An orphan in a session of its own: nobody's child but the init's.
const std::vector<std::string> kOrphan = {"/usr/bin/setsid", "--fork", "/bin/sleep", "1000"};

TEST_F(Sandbox, GoesUpAndDownTwiceAndLeavesNothing) {
  const Machine before = LookAtMachine();
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok());
    const std::set<std::string> namespaces = PidNamespaces(Status());
    EXPECT_THAT(namespaces, SizeIs(3)) << "each node has a pid namespace of its own";
    EXPECT_THAT(ProcessesIn(namespaces), SizeIs(6)) << "an init and an agent each";
    EXPECT_EQ(LookAtMachine().links, before.links) << "the bridge and the cables lie inside";
    ASSERT_EQ(engine().Down(), Ok());
    EXPECT_THAT(ProcessesIn(namespaces), IsEmpty());
  }
  EXPECT_EQ(LookAtMachine(), before);
  EXPECT_NE(access(engines::ShadowSocket(state_dir_).c_str(), F_OK), 0) << "the socket is removed";
}

TEST_F(Sandbox, IsTakenDownTwiceWithoutComplaint) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok());
  EXPECT_EQ(engine().Down(), Ok());
  EXPECT_EQ(engine().Down(), Ok());
  EXPECT_FALSE(Status().up);
}

TEST_F(Sandbox, EndsWithItsSupervisorWhateverKillsIt) {
  const Machine before = LookAtMachine();
  ASSERT_EQ(engine().Up(Spec({"/bin/sleep", "1000"}), Lifetime::kWithUs), Ok());
  ASSERT_EQ(engine().StartWorkload(), Ok());
  const engines::EngineStatus status = Status();
  const std::set<std::string> namespaces = PidNamespaces(status);
  ASSERT_THAT(ProcessesIn(namespaces), SizeIs(9));
  ASSERT_EQ(kill(status.nodes[1].workload.pid, SIGSTOP), 0) << "a stopped process must not hold it up";

  ASSERT_EQ(kill(status.supervisor_pid, SIGKILL), 0);

  EXPECT_TRUE(Await(seconds(20), [&] { return ProcessesIn(namespaces).empty(); }));
  EXPECT_EQ(LookAtMachine(), before);
  EXPECT_EQ(engine().Down(), Ok());
  EXPECT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok()) << "stale files are no obstacle";
}

TEST_F(Sandbox, IsRefusedASecondTimeOnOneStateDirectory) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok());
  const Result<coordinator::Finished> second =
      coordinator::RunToEnd({programs_.shadow, "up", "--spec", state_dir_ + "/shadow.json"}, clock_, seconds(30));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->exit_code, 3);
  EXPECT_THAT(second->output, HasSubstr(Cat("supervisor pid ", Status().supervisor_pid)));
  EXPECT_TRUE(Status().up) << "the first is untouched";
}

TEST_F(Sandbox, IsAttachedToIfItIsUpAlreadyAndRefusedIfItIsAnother) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kDetached), Ok());
  EXPECT_FALSE(engine().Attached());
  engines::LocalEngine other(programs_, state_dir_);
  ASSERT_EQ(other.Up(Spec(), Lifetime::kWithUs), Ok());
  EXPECT_TRUE(other.Attached());
  const ::absl::Status another = other.Up(Spec({"/bin/true"}), Lifetime::kWithUs);
  EXPECT_TRUE(absl::IsFailedPrecondition(another)) << another;
}

// Forks a process that brings the sandbox up and ends at once.
int UpInAProcessThatEnds(const engines::Programs& programs, const std::string& state_dir, const v1::ShadowSpec& spec,
                         Lifetime lifetime) {
  const pid_t child = fork();
  if (child == 0) {
    engines::LocalEngine engine(programs, state_dir);
    _exit(engine.Up(spec, lifetime).ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(Sandbox, IsTakenDownEvenIfItsSupervisorDoesNotAnswer) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kDetached), Ok());
  const engines::EngineStatus status = Status();
  const std::set<std::string> namespaces = PidNamespaces(status);
  ASSERT_EQ(kill(status.supervisor_pid, SIGSTOP), 0);
  EXPECT_EQ(engine().Down(), Ok());
  EXPECT_THAT(ProcessesIn(namespaces), IsEmpty());
}

TEST_F(Sandbox, EndsWithItsParentIfAskedTo) {
  ASSERT_EQ(UpInAProcessThatEnds(programs_, state_dir_, Spec(), Lifetime::kWithUs), 0);
  EXPECT_TRUE(Await(seconds(20), [&] { return access((state_dir_ + "/shadow.pid").c_str(), F_OK) != 0; }));
  EXPECT_TRUE(Await(seconds(20), [&] { return !Status().up; }));
}

TEST_F(Sandbox, OutlivesItsParentIfDetached) {
  ASSERT_EQ(UpInAProcessThatEnds(programs_, state_dir_, Spec(), Lifetime::kDetached), 0);
  const engines::EngineStatus status = Status();
  ASSERT_TRUE(status.up);
  EXPECT_TRUE(status.nodes[2].agent.running);
  const std::set<std::string> namespaces = PidNamespaces(status);
  EXPECT_EQ(engine().Down(), Ok()) << "by another than who brought it up";
  EXPECT_THAT(ProcessesIn(namespaces), IsEmpty());
}

TEST_F(Sandbox, StartsAnAgentAgainThatWasKilledUnlessItIsToStayDown) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok());
  ASSERT_EQ(engine().KillAgent("n1", /*stay_down=*/false), Ok());
  EXPECT_TRUE(Await(seconds(20), [&] { return Status().nodes[1].agent.starts == 2; }));
  ASSERT_EQ(engine().KillAgent("n1", /*stay_down=*/true), Ok());
  const engines::ProgramStatus down = Status().nodes[1].agent;
  EXPECT_FALSE(down.running);
  EXPECT_EQ(down.exit_code, -SIGKILL);
  ASSERT_EQ(engine().RestartAgent("n1"), Ok());
  EXPECT_EQ(Status().nodes[1].agent.starts, 3);
  EXPECT_THAT(engine().RestartAgent("n9").message(), HasSubstr("no node n9"));
}

TEST_F(Sandbox, StopsEveryProcessOfTheWorkloadAndNoAgent) {
  ASSERT_EQ(engine().Up(Spec(kOrphan), Lifetime::kWithUs), Ok());
  const std::set<std::string> namespaces = PidNamespaces(Status());
  ASSERT_EQ(engine().StartWorkload(), Ok());
  ASSERT_TRUE(
      Await(seconds(20), [&] { return ProcessesIn(namespaces).size() == 9 && !Status().nodes[0].workload.running; }));
  for (const pid_t pid : ProcessesIn(namespaces)) {
    if (CommandLine(pid) == "/bin/sleep 1000 ") kill(pid, SIGSTOP);
  }
  ASSERT_EQ(engine().StopWorkload(), Ok());
  EXPECT_THAT(ProcessesIn(namespaces), SizeIs(6)) << "inits and agents";
  EXPECT_EQ(Status().nodes[0].agent.starts, 1);
  EXPECT_EQ(engine().StopWorkload(), Ok()) << "a second time";
}

TEST_F(Sandbox, RefusesToStartAWorkloadTwiceAndRestartsIt) {
  ASSERT_EQ(engine().Up(Spec({"/bin/sleep", "1000"}), Lifetime::kWithUs), Ok());
  ASSERT_EQ(engine().StartWorkload(), Ok());
  const pid_t first = Status().nodes[0].workload.pid;
  EXPECT_THAT(engine().StartWorkload().message(), HasSubstr("runs on n0 already"));
  ASSERT_EQ(engine().RestartWorkload(), Ok());
  const engines::ProgramStatus workload = Status().nodes[0].workload;
  EXPECT_TRUE(workload.running);
  EXPECT_NE(workload.pid, first);
  EXPECT_EQ(workload.exit_code, -SIGKILL);
}

TEST_F(Sandbox, SaysWhichProgramItCouldNotStartAndLeavesNothing) {
  v1::ShadowSpec spec = Spec();
  spec.mutable_nodes(2)->mutable_agent()->set_argv(0, "/no/such/agent");
  const ::absl::Status up = engine().Up(spec, Lifetime::kWithUs);
  EXPECT_THAT(up.message(), HasSubstr("start the agent of n2"));
  EXPECT_THAT(up.message(), HasSubstr("/no/such/agent: No such file or directory"));
  EXPECT_FALSE(Status().up);
}

TEST_F(Sandbox, ReportsANodeWhoseInitIsGone) {
  ASSERT_EQ(engine().Up(Spec(), Lifetime::kWithUs), Ok());
  ASSERT_EQ(kill(Status().nodes[1].init_pid, SIGKILL), 0);
  EXPECT_TRUE(Await(seconds(20), [&] { return Status().nodes[1].lost; }));
  EXPECT_FALSE(Status().nodes[0].lost);
  EXPECT_THAT(engine().RestartAgent("n1").message(), HasSubstr("lost"));
}

}  // namespace
}  // namespace triodrill::testing_embedded
