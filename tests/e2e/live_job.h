// The reference job on a partition of the test's own, brought up and looked at as a person would: `shadow status`, the
// pipeline's log, the job's progress. Everything is gone when it is destroyed.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fstream>

#include "tests/e2e/partition.h"

namespace triodrill::testing {

// To one process: a pid that was not found must not become a signal to all.
inline void SendSignal(pid_t pid, int signal) {
  ASSERT_GT(pid, 1) << "there is no such process to signal";
  EXPECT_EQ(kill(pid, signal), 0) << "signal " << signal << " to process " << pid;
}

// Calls `act` in a child that has entered the namespaces `which` (CLONE_NEW...) of process `pid`; its answer is the
// child's exit code. -1: they could not be entered.
inline int InNamespacesOf(pid_t pid, int which, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    const int target = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (geteuid() != 0) which |= CLONE_NEWUSER;
    if (target < 0 || setns(target, which) != 0) _exit(255);
    _exit(act());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255) return -1;
  return WEXITSTATUS(status);
}

// Writes into `file` until the file system has no page left.
inline void FillDisk(const std::string& file) {
  const std::string page(4096, 'x');
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  while (fd >= 0 && write(fd, page.data(), page.size()) > 0) {
  }
  if (fd >= 0) close(fd);
}

class LiveJob {
 public:
  static constexpr std::chrono::seconds kWithin{60};

  LiveJob() : before_(Look()) {}
  ~LiveJob() {
    EXPECT_EQ(Verb("down"), 0) << said_;
    EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return Look() == before_; }))
        << ::testing::PrintToString(Look().programs);
  }
  LiveJob(const LiveJob&) = delete;
  LiveJob& operator=(const LiveJob&) = delete;

  // A policy or a partition of the test's own; before the first Up.
  void UsePolicy(const std::string& spec) {
    const std::string file = partition_.Path("policy.yaml");
    std::ofstream(file) << "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: test}\nspec:\n" << spec;
    std::string profile = Slurp(TRIODRILL_SOURCE_DIR "/drills/pipelines/reference.yaml");
    const std::string shipped = "${data_dir}/shadow/policy.yaml";
    profile.replace(profile.find(shipped), shipped.size(), file);
    pipeline_ = partition_.Path("pipeline.yaml");
    std::ofstream(pipeline_) << profile;
  }
  void UsePartition(const std::string& spec) {
    topology_ = partition_.Path("partition.yaml");
    std::ofstream(topology_) << "apiVersion: triodrill/v1\nkind: Partition\nmetadata: {name: small}\nspec:\n" << spec;
  }

  // Exit code of `triodrill shadow VERB`; what it said is in said().
  int Verb(const std::string& verb, bool json = false) {
    std::vector<std::string> arguments = {"shadow", verb};
    if (json) arguments.push_back("--json");
    const auto program = partition_.Start(Where(std::move(arguments)));
    const int code = program->Wait(kWithin).value_or(-1);
    said_ = program->Out() + program->Err();
    out_ = program->Out();
    return code;
  }
  std::vector<std::string> Where(std::vector<std::string> arguments) const {
    for (const std::string& argument : {std::string("--pipeline"), pipeline_, std::string("--partition"), topology_,
                                        std::string("--state-dir"), partition_.state_dir()}) {
      arguments.push_back(argument);
    }
    return arguments;
  }
  // Up, and the job makes steps.
  ::testing::AssertionResult Up() {
    if (Verb("up") != 0) return ::testing::AssertionFailure() << said_;
    return Trains();
  }
  const std::string& said() const { return said_; }
  Partition& partition() { return partition_; }
  std::string Run(const std::string& file) const { return partition_.state_dir() + "/run/" + file; }

  nlohmann::json Node(const std::string& name) {
    EXPECT_EQ(Verb("status", true), 0) << said_;
    const nlohmann::json status = nlohmann::json::parse(out_, nullptr, false);
    if (status.is_discarded()) return nlohmann::json::object();
    for (const auto& node : status.at("nodes")) {
      if (node.at("name") == name) return node;
    }
    return nlohmann::json::object();
  }
  pid_t Launcher(const std::string& node) { return Node(node).at("workload").at("pid").get<pid_t>(); }
  pid_t Agent(const std::string& node) { return Node(node).at("agent").at("pid").get<pid_t>(); }
  // Process 1 of a node: the parent of its agent.
  pid_t Init(const std::string& node) {
    const std::string stat = Slurp("/proc/" + std::to_string(Agent(node)) + "/stat");
    return std::stoi(stat.substr(stat.rfind(") ") + 4));
  }
  pid_t Supervisor() const { return std::stoi("0" + Slurp(partition_.state_dir() + "/shadow.pid")); }
  pid_t Trainer(int rank) const { return Find("triodrill-trainer", {"--rank", std::to_string(rank), "--local-rank"}); }
  pid_t Pipeline() const { return Find("triodrill-pipeline", {}); }
  // It names no path of ours: the launcher's child.
  pid_t Exporter(const std::string& node) {
    const std::string launcher = std::to_string(Launcher(node));
    for (const auto child :
         absl::StrSplit(Slurp(absl::StrCat("/proc/", launcher, "/task/", launcher, "/children")), ' ')) {
      const std::string pid(child);
      if (absl::StrContains(Slurp("/proc/" + pid + "/cmdline"), "/triodrill-gpu-exporter")) return std::stoi(pid);
    }
    ADD_FAILURE() << "no exporter runs on " << node;
    return -1;
  }

  // Whether rank 0 makes twenty more steps.
  ::testing::AssertionResult Trains() const {
    const int from = Steps();
    if (Eventually(kWithin, [&] { return Steps() >= from + 20; })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "no further steps after " << from << "\n"
                                         << Slurp(Run("pipeline.log")) << Slurp(Run("n0.err"));
  }

  // Lines of the pipeline's log that were written since Mark() and hold all of `words`.
  void Mark() { mark_ = Slurp(Run("pipeline.log")).size(); }
  int Said(const std::vector<std::string>& words) const {
    int count = 0;
    const std::string log = Slurp(Run("pipeline.log")).substr(mark_);
    for (const auto line : absl::StrSplit(log, '\n')) {
      bool all = true;
      for (const std::string& word : words) all = all && absl::StrContains(line, word);
      count += all ? 1 : 0;
    }
    return count;
  }
  ::testing::AssertionResult Says(const std::vector<std::string>& words) const {
    if (Eventually(kWithin, [&] { return Said(words) > 0; })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "never said; the pipeline's log:\n" << Slurp(Run("pipeline.log"));
  }

 private:
  // Cgroups left out: nothing here makes one, and a drill beside this may.
  HostState Look() const {
    HostState state = LookAtHost(partition_.state_dir());
    state.cgroups.clear();
    return state;
  }
  pid_t Find(const std::string& program, const std::vector<std::string>& words) const {
    std::string run(1, '\0');
    for (const std::string& word : words) run.append(word).push_back('\0');
    for (const std::string& found : ProgramsOf(partition_.state_dir())) {
      const size_t blank = found.find(' ');
      const std::string line = found.substr(blank + 1);
      if (!absl::StrContains(line.substr(0, line.find('\0')), "/" + program)) continue;
      if (absl::StrContains(line, run)) return std::stoi(found.substr(0, blank));
    }
    ADD_FAILURE() << "no " << program << " of this partition runs";
    return -1;
  }
  int Steps() const {
    int steps = 0;
    for (const std::string& name : Names(Run(""))) {
      if (!name.starts_with("progress-")) continue;
      for (const auto line : absl::StrSplit(Slurp(Run(name)), '\n')) {
        steps += absl::StartsWith(line, "step=") && absl::StrContains(line, " rank=0 ") ? 1 : 0;
      }
    }
    return steps;
  }

  Partition partition_;
  HostState before_;
  std::string pipeline_ = "reference";
  std::string topology_ = "reference";
  std::string said_, out_;
  size_t mark_ = 0;
};

}  // namespace triodrill::testing
