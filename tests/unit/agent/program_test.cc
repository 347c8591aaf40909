// triodrilld as it is started on a node, with the real injectors, on a process that is ours.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "coordinator/fleet/fleet.h"
#include "injectors/journal/journal.h"
#include "injectors/os/clock.h"
#include "injectors/process/process_identity.h"
#include "tests/unit/agent/inbox.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kPolicy[] = R"(apiVersion: triodrill/v1
kind: AgentPolicy
metadata: {name: test}
spec:
  shadow: true
  faults: [process.pause, process.kill]
  max_hold: 2min
  protect_commands: ["protected-[0-9]+"]
)";

pid_t Spawn(std::vector<std::string> arguments, const std::string& err, std::vector<std::string> environment = {}) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  environment.push_back("PATH=/usr/bin:/bin");
  // A sanitizer's options are of the test run, not of the agent under test.
  for (const char* options : {"TSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(options)) environment.push_back(Cat(options, "=", value));
  }
  std::vector<char*> envp;
  for (std::string& variable : environment) envp.push_back(variable.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  EXPECT_EQ(error, 0) << arguments[0];
  return pid;
}

int ExitCodeOf(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    char path[] = "/tmp/triodrill-agent-XXXXXX";
    directory_ = mkdtemp(path);
    WritePolicy(kPolicy);
  }
  ~ProgramTest() override {
    if (agent_ > 0) {
      kill(agent_, SIGTERM);
      ExitCodeOf(agent_);
    }
    fleet_ = nullptr;
    if (worker_ > 0) {
      kill(worker_, SIGKILL);
      ExitCodeOf(worker_);
    }
    std::filesystem::remove_all(directory_);
  }

  void WritePolicy(const std::string& text) { std::ofstream(directory_ + "/policy.yaml") << text; }
  std::vector<std::string> Command() const {
    return {std::string(TRIODRILL_BIN_DIR) + "/triodrilld",
            "--node",
            "n1",
            "--coordinator",
            "unix:" + directory_ + "/s",
            "--state-dir",
            directory_ + "/state",
            "--policy",
            directory_ + "/policy.yaml"};
  }
  void StartAgent() { agent_ = Spawn(Command(), directory_ + "/err"); }
  void StartFleet() {
    fleet::Options options;
    options.socket_path = directory_ + "/s";
    options.run_id = "r1";
    options.lease = seconds(30);
    options.nodes = {"n1"};
    auto fleet = Fleet::Listen(options, clock_, [this](AgentEvent event) { inbox_.Put(std::move(event)); });
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_ = *std::move(fleet);
  }
  void StartWorker(const std::string& name) {
    worker_ = Spawn({"sleep", "1000"}, "/dev/null", {"RANK=3", "LOCAL_RANK=0", "NAME=" + name});
  }
  std::string Errors() const {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/err").rdbuf();
    return text.str();
  }
  // Waits for the worker to be found by its command line and rank.
  v1::RankFound FindWorker() {
    v1::CoordinatorSays watch;
    watch.mutable_watch()->mutable_rank_process()->set_command_line("^sleep 1000$");
    EXPECT_TRUE(fleet_->Send("n1", watch).ok());
    const v1::Inventory inventory = inbox_.Await(&v1::AgentSays::has_inventory).said.inventory();
    for (const v1::RankFound& rank : inventory.ranks()) {
      if (rank.process().pid() == worker_) return rank;
    }
    ADD_FAILURE() << "the worker is not in the inventory: " << inventory.ShortDebugString();
    return {};
  }
  v1::Prepared Prepare(const v1::ProcessIdentity& target, const std::string& kind) {
    v1::CoordinatorSays says;
    v1::AimedFault& fault = *says.mutable_prepare()->mutable_fault();
    fault.set_shot("1.a.0");
    fault.set_run_id("r1");
    fault.set_kind(kind);
    if (kind == "process.pause") fault.mutable_with()->mutable_process_pause();
    if (kind == "process.kill") fault.mutable_with()->mutable_process_kill()->set_signal("SIGKILL");
    *fault.mutable_target()->mutable_process() = target;
    EXPECT_TRUE(fleet_->Send("n1", says).ok());
    return inbox_.Await(&v1::AgentSays::has_prepared).said.prepared();
  }
  AgentEvent Fire() {
    v1::CoordinatorSays says;
    says.mutable_arm()->set_shot("1.a.0");
    says.mutable_arm()->set_fire_at_node_ns(fleet::ToNode(*fleet_->Offset("n1"), clock_.Now() + milliseconds(500)));
    EXPECT_TRUE(fleet_->Send("n1", says).ok());
    return inbox_.Await([](const AgentEvent& event) { return event.said.has_landed() || event.said.has_missed(); });
  }
  // The worker's state letter is this, sooner or later.
  bool WorkerBecomes(char state) {
    return LookUntil(kPatience, [this, state] {
      const auto stat = ReadProcessStat(worker_);
      return stat.ok() && stat->state == state;
    });
  }
  // A worker that is paused by a fault.
  void Pause() {
    StartWorker("w");
    StartFleet();
    StartAgent();
    inbox_.Await(Kind::kConnected);
    const v1::RankFound found = FindWorker();
    ASSERT_EQ(Prepare(found.process(), "process.pause").problem(), "");
    const AgentEvent landed = Fire();
    if (landed.said.has_missed()) GTEST_SKIP() << "this machine was too busy to fire in time";
    ASSERT_EQ(landed.said.landed().problem(), "");
    ASSERT_TRUE(WorkerBecomes('T'));
  }

  SystemClock clock_;
  std::string directory_;
  Inbox inbox_;
  std::unique_ptr<Fleet> fleet_;
  pid_t agent_ = 0;
  pid_t worker_ = 0;
};

TEST_F(ProgramTest, FindsAWorkerByItsCommandLineAndRank) {
  StartWorker("w");
  StartFleet();
  StartAgent();
  const AgentEvent connected = inbox_.Await(Kind::kConnected);
  EXPECT_TRUE(connected.said.hello().shadow());
  EXPECT_EQ(connected.said.hello().max_hold_ns(), 120'000'000'000);
  EXPECT_GT(connected.said.hello().capabilities_size(), 0);
  const v1::RankFound found = FindWorker();
  EXPECT_EQ(found.rank(), 3);
  EXPECT_EQ(found.local_rank(), 0);
  EXPECT_EQ(found.command_line(), "sleep 1000");
}

TEST_F(ProgramTest, KillsAWorkerAndSeesItEnd) {
  StartWorker("w");
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  const v1::RankFound found = FindWorker();
  ASSERT_EQ(Prepare(found.process(), "process.kill").problem(), "");
  const AgentEvent landed = Fire();
  if (landed.said.has_missed()) GTEST_SKIP() << "this machine was too busy to fire in time";
  ASSERT_EQ(landed.said.landed().problem(), "");
  const Instant onset = fleet::ToCoordinator(landed.offset, landed.said.landed().at());
  RecordProperty("onset_width_us", static_cast<int>(onset.Width().count() / 1000));
  EXPECT_TRUE(inbox_.Await(&v1::AgentSays::has_reverted).said.reverted().confirmed());
  EXPECT_EQ(ExitCodeOf(std::exchange(worker_, 0)), -SIGKILL);
}

TEST_F(ProgramTest, SeesWorkersEndAndAppear) {
  StartWorker("w");
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  FindWorker();
  kill(worker_, SIGKILL);
  const AgentEvent ended = inbox_.Await(&v1::AgentSays::has_process);
  EXPECT_EQ(ended.said.process().change(), v1::PROCESS_ENDED);
  EXPECT_EQ(ended.said.process().rank().process().pid(), worker_);
  ExitCodeOf(worker_);
  StartWorker("w2");
  const AgentEvent appeared = inbox_.Await(&v1::AgentSays::has_process);
  EXPECT_EQ(appeared.said.process().change(), v1::PROCESS_APPEARED);
  EXPECT_EQ(appeared.said.process().rank().process().pid(), worker_);
  EXPECT_LT(appeared.said.process().at().earliest_node_ns(), appeared.said.process().at().latest_node_ns());
}

TEST_F(ProgramTest, RevertsEverythingWhenItIsToldToEnd) {
  Pause();
  if (IsSkipped() || HasFatalFailure()) return;
  kill(agent_, SIGTERM);
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 0) << Errors();
  EXPECT_TRUE(WorkerBecomes('S'));
  EXPECT_TRUE(ReadJournal(directory_ + "/state/journal")->empty());
  EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_reverted).said.reverted().reason(), "shutdown");
}

TEST_F(ProgramTest, IsSurvivedByItsGuardianWhichReverts) {
  Pause();
  if (IsSkipped() || HasFatalFailure()) return;
  kill(agent_, SIGKILL);
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), -SIGKILL);
  EXPECT_TRUE(WorkerBecomes('S')) << Errors();
  EXPECT_TRUE(LookUntil(kPatience, [this] { return ReadJournal(directory_ + "/state/journal")->empty(); }));
  // And the next agent takes up where the guardian left off.
  StartAgent();
  const AgentEvent back = inbox_.Await(Kind::kConnected);
  EXPECT_EQ(back.said.hello().open_size(), 0);
  v1::CoordinatorSays revert;
  revert.mutable_revert()->set_shot("1.a.0");
  EXPECT_TRUE(fleet_->Send("n1", revert).ok());
  const v1::Reverted reverted = inbox_.Await(&v1::AgentSays::has_reverted).said.reverted();
  EXPECT_TRUE(reverted.confirmed()) << reverted.problem();
  EXPECT_EQ(reverted.reason(), "replay");
  EXPECT_LT(reverted.at().earliest_node_ns(), reverted.at().latest_node_ns());
}

TEST_F(ProgramTest, NeverTargetsAProtectedCommandLine) {
  worker_ = Spawn({"sleep", "1000.5"}, "/dev/null", {"RANK=0", "LOCAL_RANK=0"});
  WritePolicy(std::string(kPolicy).replace(std::string(kPolicy).find("protected-"), 17, "^sleep 1000[.]5$\""));
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  const auto identity = IdentifyProcess(worker_);
  ASSERT_TRUE(identity.ok());
  EXPECT_THAT(Prepare(*identity, "process.pause").problem(), HasSubstr("protects command lines"));
}

TEST_F(ProgramTest, StartsOnlyWithAPolicyThatNobodyElseMayWrite) {
  ASSERT_EQ(chmod((directory_ + "/policy.yaml").c_str(), 0666), 0);
  StartAgent();
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 65);
  EXPECT_THAT(Errors(), HasSubstr("chmod go-w"));
}

TEST_F(ProgramTest, StartsOnlyWithApproversKeysThatNobodyElseMayWrite) {
  const std::string key = directory_ + "/ana.pub";
  WritePolicy(
      "apiVersion: triodrill/v1\nkind: AgentPolicy\nmetadata: {name: x}\n"
      "spec: {shadow: true, max_hold: 1min, approvers: [{name: ana, key: " +
      key + "}]}\n");
  StartAgent();
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 65);
  EXPECT_THAT(Errors(), HasSubstr("open approver's key"));
  std::ofstream(key) << "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n";
  ASSERT_EQ(chmod(key.c_str(), 0666), 0);
  StartAgent();
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 65);
  EXPECT_THAT(Errors(), HasSubstr("approver's key " + key + ": others may write it"));
  ASSERT_EQ(chmod(key.c_str(), 0600), 0);
  std::ofstream(key) << "no key\n";
  StartAgent();
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 65);
  EXPECT_THAT(Errors(), HasSubstr("the key of approver `ana`"));
}

TEST_F(ProgramTest, NamesThePlaceOfAMistakeInItsPolicy) {
  WritePolicy(
      "apiVersion: triodrill/v1\nkind: AgentPolicy\nmetadata: {name: x}\nspec: {shadou: true, max_hold: 1min}\n");
  StartAgent();
  EXPECT_EQ(ExitCodeOf(std::exchange(agent_, 0)), 65);
  EXPECT_THAT(Errors(), HasSubstr("policy.yaml:4:8"));
}

TEST_F(ProgramTest, RefusesWhatItCannotDial) {
  auto command = Command();
  command[4] = "dns:///example.org:443";
  EXPECT_EQ(ExitCodeOf(Spawn(command, directory_ + "/err")), 64);
  EXPECT_EQ(ExitCodeOf(Spawn({command[0], "--nod", "n1"}, directory_ + "/err")), 64);
}

}  // namespace
}  // namespace triodrill::agent
