// The programs themselves, on loop-back addresses: real launchers, a real pipeline, real trainers, real probes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/numbers.h"
#include "drills/shadow/gpu/fields.h"
#include "drills/shadow/gpu/state_file.h"
#include "drills/shadow/pipeline/trainer_process.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string FileOf(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool Eventually(const std::function<bool()>& condition) {
  SystemClock clock;
  const TimePoint limit = clock.Now() + std::chrono::seconds(40);
  while (clock.Now() < limit) {
    if (condition()) return true;
    usleep(20'000);
  }
  return condition();
}

class Directory {
 public:
  Directory() {
    std::string path = (std::filesystem::temp_directory_path() / "triodrill-pipeline-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) abort();
    path_ = path;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Two nodes of one slot and a spare one, each with its launcher. All of it ends with the object.
class TwoNodes {
 public:
  TwoNodes() {
    std::ofstream(run_.File("partition.json"))
        << R"({"metadata":{"name":"two"},"spec":{"shadow":true,"engine":"local","spares":["s0"],"nodes":[)"
        << R"({"name":"n0","slots":1,"address":"127.0.0.31"},{"name":"n1","slots":1,"address":"127.0.0.32"},)"
        << R"({"name":"s0","slots":1,"address":"127.0.0.33"}]}})";
    // Generous time-outs: what is tested is what is done, not how fast on a machine that has other things to do.
    std::ofstream(run_.File("policy.yaml"))
        << "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: two}\nspec:\n"
        << "  training: {step_compute: 10ms, checkpoint_every: 5}\n"
        << "  detection: {heartbeat_timeout: 3s, log_silence: 5s, traffic_silence: 5s, stall_watchdog: 20s,"
        << " straggler_ratio: 50}\n  bounds: {join_timeout: 30s, start_timeout: 30s}\n";
    const std::pair<const char*, const char*> nodes[] = {
        {"n0", "127.0.0.31"}, {"n1", "127.0.0.32"}, {"s0", "127.0.0.33"}};
    for (const auto& [node, address] : nodes) {
      launchers_.push_back(Launch({"--node", node, "--first", "n0", "--address", address}));
    }
  }
  ~TwoNodes() {
    for (const pid_t pid : launchers_) kill(pid, SIGKILL);  // everything else dies with its parent
    for (const pid_t pid : launchers_) waitpid(pid, nullptr, 0);
    Eventually([this] { return Processes("").empty(); });
  }

  std::string Log() const { return FileOf(run_.File("pipeline.log")); }
  bool UntilLogged(const std::string& text) const {
    return Eventually([&] { return Log().find(text) != std::string::npos; });
  }
  int StepOf(const std::string& node) const {
    const std::string log = FileOf(run_.File(Cat("progress-", node, ".log")));
    const size_t at = log.rfind("\nstep=");
    int step = -1;
    if (at != std::string::npos && absl::SimpleAtoi(log.substr(at + 6, log.find(' ', at) - at - 6), &step)) return step;
    return -1;
  }
  // Pids of this test's processes whose command line holds `text`.
  std::vector<pid_t> Processes(const std::string& text) const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
      std::string line = FileOf(entry.path().string() + "/cmdline");
      std::replace(line.begin(), line.end(), '\0', ' ');
      if (line.find(run_.path()) != std::string::npos && line.find(text) != std::string::npos) found.push_back(pid);
    }
    return found;
  }
  pid_t TheOne(const std::string& text) const {
    const std::vector<pid_t> found = Processes(text);
    return found.size() == 1 ? found[0] : 0;
  }
  std::string File(const std::string& name) const { return run_.File(name); }
  const std::vector<pid_t>& launchers() const { return launchers_; }

 private:
  pid_t Launch(std::vector<std::string> arguments) {
    for (const std::string& more : {std::string("--run-dir"), run_.path(), std::string("--partition"),
                                    run_.File("partition.json"), std::string("--policy"), run_.File("policy.yaml")}) {
      arguments.push_back(more);
    }
    Spawning spawning;
    spawning.program = std::string(TRIODRILL_BIN_DIR) + "/triodrill-node";
    spawning.arguments = arguments;
    spawning.error_file = run_.File("launchers.err");
    const Result<pid_t> pid = Spawn(spawning);
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.value_or(0);
  }

  Directory run_;
  std::vector<pid_t> launchers_;
};

TEST(PipelineProgram, AKilledTrainerIsStartedAgainAndEverybodyJoins) {
  TwoNodes job;
  ASSERT_TRUE(job.UntilLogged(" restored step=0 epoch=1\n")) << job.Log();
  ASSERT_TRUE(Eventually([&] { return job.StepOf("n1") >= 12; })) << job.Log();
  const pid_t survivor = job.TheOne("triodrill-trainer --rank 0 ");
  const pid_t victim = job.TheOne("triodrill-trainer --rank 1 ");
  ASSERT_GT(survivor, 0);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(job.UntilLogged(" epoch=2\n")) << job.Log();
  EXPECT_THAT(job.Log(), HasSubstr("detected slot=n1/0 rank=1 node=n1 fault=dead by=exit,heartbeat"));
  ASSERT_TRUE(Eventually([&] { return job.Log().rfind(" restored step=") > job.Log().rfind(" restore_ordered "); }));
  EXPECT_THAT(job.Log(), HasSubstr("restore_ordered source=checkpoint"));
  EXPECT_THAT(job.Log(), Not(HasSubstr("isolated")));
  const int step = job.StepOf("n0");
  EXPECT_TRUE(Eventually([&] { return job.StepOf("n0") > step + 5; })) << job.Log();
  EXPECT_EQ(job.TheOne("triodrill-trainer --rank 0 "), survivor);
  EXPECT_NE(job.TheOne("triodrill-trainer --rank 1 "), victim);
}

TEST(PipelineProgram, ALostGpuCostsItsSlotAndNoMore) {
  TwoNodes job;
  ASSERT_TRUE(job.UntilLogged(" restored step=0 epoch=1\n")) << job.Log();
  ASSERT_TRUE(Eventually([&] { return job.StepOf("n1") >= 7; })) << job.Log();
  const pid_t survivor = job.TheOne("triodrill-trainer --rank 0 ");
  const Result<gpu::MappedState> state = gpu::MappedState::Open(job.File("gpu-n1.state"), true);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ((*state)->count, 1U);
  ASSERT_TRUE(gpu::SetField(**state, 0, "lost=1").ok());
  ASSERT_TRUE(job.UntilLogged("replaced slot=s0/0 rank=1 instead_of=n1/0")) << job.Log();
  EXPECT_THAT(job.Log(), HasSubstr("is lost: it has fallen off the bus"));
  EXPECT_THAT(job.Log(), HasSubstr("isolated slot=n1/0 level=gpu"));
  EXPECT_THAT(job.Log(), Not(HasSubstr("isolated slot=n0")));
  ASSERT_TRUE(Eventually([&] { return job.StepOf("s0") >= 12; })) << job.Log();
  EXPECT_EQ(job.TheOne("triodrill-trainer --rank 0 "), survivor);
}

TEST(PipelineProgram, AKilledPipelineIsStartedAgainAndTheJobNeverNotices) {
  TwoNodes job;
  ASSERT_TRUE(job.UntilLogged(" restored step=0 epoch=1\n")) << job.Log();
  const pid_t trainer = job.TheOne("triodrill-trainer --rank 1 ");
  const pid_t before = job.TheOne("triodrill-pipeline ");
  ASSERT_GT(before, 0);
  ASSERT_EQ(kill(before, SIGKILL), 0);
  ASSERT_TRUE(
      Eventually([&] { return job.TheOne("triodrill-pipeline ") > 0 && job.TheOne("triodrill-pipeline ") != before; }));
  const int step = job.StepOf("n1");
  ASSERT_TRUE(Eventually([&] { return job.StepOf("n1") > step + 20; })) << job.Log();
  EXPECT_THAT(job.Log(), Not(HasSubstr("detected"))) << "the old pipeline's end is no fault of the job";
  EXPECT_EQ(job.TheOne("triodrill-trainer --rank 1 "), trainer);
  // It knows what it took over: the next fault is repaired.
  ASSERT_EQ(kill(trainer, SIGKILL), 0);
  ASSERT_TRUE(job.UntilLogged(" epoch=2\n")) << job.Log();
}

TEST(PipelineProgram, TerminationOfTheFirstLauncherEndsEverything) {
  TwoNodes job;
  ASSERT_TRUE(job.UntilLogged(" restored step=0 epoch=1\n")) << job.Log();
  ASSERT_EQ(kill(job.launchers()[0], SIGTERM), 0);
  for (const pid_t pid : job.launchers()) {
    int status = -1;
    ASSERT_TRUE(Eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; }));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_TRUE(Eventually([&] { return job.Processes("").empty(); }));
}

struct Output {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs programs side by side to their ends.
std::vector<Output> RunAll(const std::vector<std::vector<std::string>>& commands) {
  const Directory directory;
  std::vector<pid_t> pids;
  for (size_t i = 0; i < commands.size(); ++i) {
    const OwnedFd out(open(directory.File(Cat("out", i)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Spawning spawning;
    spawning.program = std::string(TRIODRILL_BIN_DIR) + "/" + commands[i][0];
    spawning.arguments.assign(commands[i].begin() + 1, commands[i].end());
    spawning.out = out.get();
    spawning.error_file = directory.File(Cat("err", i));
    pids.push_back(Spawn(spawning).value_or(0));
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < pids.size(); ++i) {
    int status = 0;
    waitpid(pids[i], &status, 0);
    outputs.push_back({WIFEXITED(status) ? WEXITSTATUS(status) : -1, FileOf(directory.File(Cat("out", i))),
                       FileOf(directory.File(Cat("err", i)))});
  }
  return outputs;
}

TEST(Probe, GathersWithARealOther) {
  const Directory store;
  const std::vector<Output> both =
      RunAll({{"triodrill-probe", "gather", "--address", "127.0.0.41", "--rank", "0", "--store", store.path()},
              {"triodrill-probe", "gather", "--address", "127.0.0.42", "--rank", "1", "--store", store.path()}});
  for (const Output& one : both) EXPECT_THAT(one.out, HasSubstr("\"ok\":true")) << one.err;
}

TEST(Probe, SaysSoWhenTheOtherDoesNotCome) {
  const Directory store;
  const std::vector<Output> alone = RunAll({{"triodrill-probe", "gather", "--address", "127.0.0.41", "--rank", "0",
                                             "--store", store.path(), "--timeout-ms", "300"}});
  EXPECT_THAT(alone[0].out, HasSubstr("\"ok\":false"));
}

TEST(Probe, NamesThePeerThatDoesNotAnswer) {
  const std::vector<Output> one = RunAll(
      {{"triodrill-probe", "node", "--address", "127.0.0.41", "--timeout-ms", "300", "--peer", "n9=127.0.0.49:9"}});
  EXPECT_THAT(one[0].out, HasSubstr("\"unreachable\":[\"n9\"]"));
  EXPECT_THAT(one[0].out, HasSubstr("loop-back"));
}

TEST(Options, AnUnknownDefectIsWrongUsageAndABadPolicyAnInvalidFile) {
  const Directory run;
  std::ofstream(run.File("partition.json")) << R"({"spec":{"nodes":[{"name":"n0","address":"127.0.0.1"}]}})";
  std::ofstream(run.File("policy.yaml"))
      << "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: x}\nspec: {tier: 1}\n";
  const std::vector<std::string> command = {
      "triodrill-pipeline",   "--run-dir", run.path(), "--partition", run.File("partition.json"), "--policy",
      run.File("policy.yaml")};
  std::vector<std::string> unknown = command;
  unknown.insert(unknown.end(), {"--defect", "nonsense"});
  const std::vector<Output> outputs = RunAll({command, unknown, {"triodrill-node", "--defect", "list"}});
  EXPECT_EQ(outputs[0].code, 65);
  EXPECT_THAT(outputs[0].err, HasSubstr("policy.yaml:4:8: error: unknown key `tier`"));
  EXPECT_EQ(outputs[1].code, 64);
  EXPECT_EQ(outputs[2].code, 0);
  EXPECT_THAT(outputs[2].out, HasSubstr("over_evict"));
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
