// The torchrun profile against lines that torchrun 1.13 really wrote.
#include <map>

#include "absl/strings/str_replace.h"
#include "coordinator/load/load.h"
#include "coordinator/load/read.h"
#include "gmock/gmock.h"
#include "re2/re2.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TorchrunProfile : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Diagnostic> problems;
    const std::string path = Cat(TRIODRILL_SOURCE_DIR, "/drills/pipelines/torchrun.yaml");
    const std::string text = ReadYamlFile(path, problems).value_or("");
    spec_ = LoadPipeline(text, "torchrun.yaml", problems).message.spec();
    ASSERT_THAT(problems, IsEmpty()) << Text(problems);
  }

  // Ids of the signals that a line of the launcher's standard error (or of the progress log) means.
  std::vector<std::string> Signals(std::string_view file, const std::string& line) const {
    std::vector<std::string> ids;
    for (const v1::Signal& signal : spec_.signals()) {
      const bool in_file = signal.log().path() == file;
      if (in_file && RE2::PartialMatch(line, signal.log().match())) ids.push_back(signal.id());
    }
    return ids;
  }
  std::vector<std::string> Launcher(const std::string& line) const { return Signals("${run_dir}/${node}.err", line); }
  std::vector<std::string> Job(const std::string& line) const {
    return Signals("${run_dir}/progress-${node}.log", line);
  }

  std::string Group(const std::string& id, const std::string& name, const std::string& line) const {
    for (const v1::Signal& signal : spec_.signals()) {
      if (signal.id() != id) continue;
      const RE2 regex(signal.log().match());
      std::vector<std::string> values(static_cast<size_t>(regex.NumberOfCapturingGroups()));
      std::vector<RE2::Arg> arguments;
      std::vector<const RE2::Arg*> pointers;
      for (std::string& value : values) arguments.emplace_back(&value);
      for (const RE2::Arg& argument : arguments) pointers.push_back(&argument);
      if (!RE2::PartialMatchN(line, regex, pointers.data(), static_cast<int>(pointers.size()))) return "no match";
      return values[static_cast<size_t>(regex.NamedCapturingGroups().at(name) - 1)];
    }
    return "no such signal";
  }

  v1::PipelineSpec spec_;
};

TEST_F(TorchrunProfile, TheJobsOwnLogIsProgressAndRestore) {
  const std::string step = "step=674 rank=1 local_rank=0 restart=0 loss=0.068014";
  EXPECT_THAT(Job(step), ElementsAre("step"));
  EXPECT_EQ(Group("step", "step", step), "674");
  EXPECT_EQ(Group("step", "local_rank", step), "0");
  EXPECT_THAT(Job("restored step=670 rank=0"), ElementsAre("restored"));
  EXPECT_EQ(Group("restored", "step", "restored step=670 rank=0"), "670");
  EXPECT_THAT(Job("saved step=670 rank=0"), ElementsAre("checkpoint-saved"));
  EXPECT_THAT(Job("rejected latest rank=0"), ElementsAre("checkpoint-rejected"));
}

TEST_F(TorchrunProfile, AKilledWorkerIsNamedAndASurvivorIsNot) {
  const std::string killed =
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 18552) of binary: "
      "/usr/bin/python3";
  EXPECT_THAT(Launcher(killed), ElementsAre("worker-killed"));
  EXPECT_EQ(Group("worker-killed", "local_rank", killed), "0");
  EXPECT_THAT(Launcher("ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: "
                       "18551) of binary: /usr/bin/python3"),
              ElementsAre("worker-failed"));
  // std::terminate over a broken connection: the survivor's own end, not the fault's.
  const std::string aborted =
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 0 (pid: 18551) of binary: "
      "/usr/bin/python3";
  EXPECT_THAT(Launcher(aborted), ElementsAre("worker-failed"));
  for (const char* const signal : {"-4", "-7", "-11", "-15", "-60"}) {
    EXPECT_THAT(Launcher(absl::StrReplaceAll(aborted, {{"-6", signal}})), ElementsAre("worker-killed")) << signal;
  }
}

TEST_F(TorchrunProfile, ABrokenConnectionIsASymptomWithAnAddress) {
  const std::string read =
      "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [10.77.0.12]:20882: Connection reset by peer";
  const std::string closed =
      "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.77.0.12]:20882";
  EXPECT_THAT(Launcher(read), ElementsAre("connection-broken"));
  EXPECT_THAT(Launcher(closed), ElementsAre("connection-broken"));
  EXPECT_EQ(Group("connection-broken", "address", read), "10.77.0.12");
  // As DDP hands it on.
  const std::string wrapped = "RuntimeError: Got the following error when running the callback: " + read;
  EXPECT_THAT(Launcher(wrapped), ElementsAre("connection-broken"));
  EXPECT_EQ(Group("connection-broken", "address", wrapped), "10.77.0.12");
  EXPECT_THAT(Launcher("RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [10.77.0.12]:5: Connection refused"),
              ElementsAre("connection-refused"));
  EXPECT_THAT(Launcher("RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 20000ms for recv "
                       "operation to complete"),
              ElementsAre("collective-timeout"));
}

TEST_F(TorchrunProfile, ALostKeepAliveNamesTheNode) {
  const std::string lost =
      "WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'n2_41_0' has failed to send a "
      "keep-alive heartbeat to the rendezvous 'drill' due to an error of type RendezvousTimeoutError.";
  EXPECT_THAT(Launcher(lost), ElementsAre("keep-alive-lost"));
  EXPECT_EQ(Group("keep-alive-lost", "node", lost), "n2");
}

TEST_F(TorchrunProfile, WhatTheLauncherDoesIsANote) {
  const std::map<std::string, std::string> lines = {
      {"INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 100/100 attempts left; will "
       "restart worker group",
       "will-restart"},
      {"INFO:torch.distributed.elastic.agent.server.api:[default] Detected 1 new nodes from group_rank=0; will restart "
       "worker group",
       "membership-changed"},
      {"INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous'ing worker group", "worker-group"},
      {"INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:",
       "worker-group"},
      {"INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group", "worker-group"},
      {"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 12 closing signal SIGTERM",
       "closing-worker"},
      {"WARNING:torch.distributed.elastic.agent.server.api:Received 15 death signal, shutting down workers",
       "launcher-ended"}};
  for (const auto& [line, id] : lines) {
    ASSERT_THAT(Launcher(line), ElementsAre(id)) << line;
    for (const v1::Signal& signal : spec_.signals()) {
      if (signal.id() == id) {
        EXPECT_EQ(signal.means(), v1::NOTE) << id;
      }
    }
  }
}

TEST_F(TorchrunProfile, NoLineOfAHealthyStartMeansAnything) {
  for (const char* line :
       {"INFO:torch.distributed.elastic.agent.server.api:[default] starting workers for entrypoint: python3",
        "  restart_count=0", "  group_world_size=2", "",
        "INFO:torch.distributed.elastic.multiprocessing:Setting worker0 reply file to: /x/attempt_0/0/error.json",
        "Traceback (most recent call last):"}) {
    EXPECT_THAT(Launcher(line), IsEmpty()) << line;
  }
}

TEST_F(TorchrunProfile, AWorkerIsToldFromItsLauncher) {
  const RE2 worker(spec_.workload().rank_process().command_line());
  EXPECT_TRUE(RE2::PartialMatch("/usr/bin/python3 -u /usr/share/triodrill/shadow/torchrun/train.py", worker));
  EXPECT_FALSE(
      RE2::PartialMatch("/usr/bin/python3 -m torch.distributed.run --nnodes 2:3 -r 1 -t 1 "
                        "/usr/share/triodrill/shadow/torchrun/train.py",
                        worker));
  EXPECT_FALSE(RE2::PartialMatch("vim /usr/share/triodrill/shadow/torchrun/train.py", worker));
}

}  // namespace
}  // namespace triodrill
