// PyTorch's torchrun on the embedded partition: a real job, real restarts, with and without root.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "coordinator/engines/shadow_client.h"
#include "coordinator/engines/state_dir.h"
#include "coordinator/os/child_process.h"
#include "google/protobuf/util/json_util.h"
#include "re2/re2.h"
#include "tests/peers/embedded.h"
#include "triodrill/text.h"

namespace triodrill::testing_embedded {
namespace {

using engines::Lifetime;
using std::chrono::seconds;

constexpr seconds kLoaded{150};  // importing torch takes 2 s on a quiet machine and 40 s on a loaded one

class Torchrun : public Embedded {
 protected:
  void SetUp() override {
    Embedded::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string why = WhyNoTorch(); !why.empty()) GTEST_SKIP() << why;
  }

  v1::ShadowSpec Job(const std::string& data_dir) const {
    return Spec({"/usr/bin/python3",
                 "-m",
                 "torch.distributed.run",
                 "--nnodes",
                 "2:3",
                 "--nproc_per_node",
                 "1",
                 "--rdzv_backend",
                 "c10d",
                 "--rdzv_endpoint",
                 "n0:29400",
                 "--rdzv_id",
                 "triodrill",
                 "--max_restarts",
                 "100",
                 "-r",
                 "1",
                 "-t",
                 "1",
                 data_dir + "/shadow/torchrun/train.py"},
                {"LOGLEVEL=INFO", "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth0", "PYTHONUNBUFFERED=1",
                 Cat("TRIODRILL_RUN_DIR=", RunDir()), Cat("TMPDIR=", RunDir(), "/tmp")});
  }

  std::string Progress(int node) const { return ReadText(Cat(RunDir(), "/progress-n", node, ".log")); }
  bool Says(int node, const std::string& pattern) const { return RE2::PartialMatch(Progress(node), pattern); }
  std::string Logs() const { return Cat(Progress(0), ReadText(RunDir() + "/n0.err"), ReadText(RunDir() + "/n2.err")); }

  // The worker of the node, not its launcher.
  pid_t Worker(int node) const {
    engines::EngineStatus only = Status();
    only.nodes = {only.nodes[static_cast<size_t>(node)]};
    for (const pid_t pid : ProcessesIn(PidNamespaces(only))) {
      const std::string command = CommandLine(pid);
      if (command.find("train.py") != std::string::npos && command.find("torch.distributed.run") == std::string::npos)
        return pid;
    }
    return 0;
  }
};

TEST_F(Torchrun, TrainsAndComesBackFromItsCheckpointAfterAWorkerWasKilled) {
  ASSERT_EQ(engine().Up(Job(programs_.data_dir), Lifetime::kWithUs), Ok());
  ASSERT_EQ(engine().StartWorkload(), Ok());
  ASSERT_TRUE(Await(kLoaded, [&] { return Says(2, "step=24 "); })) << Logs();
  for (int node = 0; node < 3; ++node)
    EXPECT_TRUE(Says(node, "step=20 rank=\\d local_rank=0 restart=0 loss=\\d")) << Logs();
  std::string loss_before;
  ASSERT_TRUE(RE2::PartialMatch(Progress(0), "step=20 rank=0 local_rank=0 restart=0 loss=([\\d.]+)", &loss_before))
      << Logs();

  const pid_t victim = Worker(2);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);

  ASSERT_TRUE(Await(kLoaded, [&] {
    return Says(0, "restored step=\\d+ rank=0\n(?:.*\n)*step=\\d+ rank=0 local_rank=0 restart=1 ");
  })) << Logs();
  int restored = 0;
  ASSERT_TRUE(RE2::PartialMatch(Progress(0), "restored step=(\\d+)", &restored));
  EXPECT_GE(restored, 20);
  EXPECT_EQ(restored % 10, 0) << "a step at which a checkpoint was saved";
  // Its own data again, the weights again: the same loss at the same step, to the digit.
  std::string before;
  std::string after;
  const std::string step = Cat("step=", restored + 1, " rank=0 local_rank=0 restart=");
  ASSERT_TRUE(Await(kLoaded, [&] { return RE2::PartialMatch(Progress(0), step + "1 loss=([\\d.]+)\n", &after); }))
      << Logs();
  if (RE2::PartialMatch(Progress(0), step + "0 loss=([\\d.]+)\n", &before)) {
    EXPECT_EQ(before, after);
  }
  EXPECT_TRUE(RE2::PartialMatch(ReadText(RunDir() + "/n2.err"), "failed \\(exitcode: -9\\) local_rank: 0"))
      << "torchrun's own report";
}

TEST_F(Torchrun, GoesOnFromItsCheckpointWhenTheWorkloadIsRestarted) {
  ASSERT_EQ(engine().Up(Job(programs_.data_dir), Lifetime::kWithUs), Ok());
  ASSERT_EQ(engine().StartWorkload(), Ok());
  ASSERT_TRUE(Await(kLoaded, [&] { return Says(0, "saved step=20 "); })) << Logs();
  ASSERT_EQ(engine().RestartWorkload(), Ok());
  ASSERT_TRUE(Await(kLoaded, [&] { return Says(1, "restored step=\\d+ rank=\\d+\n(?:.*\n)*step="); })) << Logs();
}

TEST_F(Torchrun, TrainsWithoutRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "the other tests of this file ran without root already";
  // A copy that nobody may read: the source tree may be closed to others.
  std::filesystem::permissions(base_, std::filesystem::perms::all);
  const std::string data_dir = base_ + "/data";
  const std::string program = base_ + "/triodrill-shadow";
  std::filesystem::create_directories(data_dir + "/shadow/torchrun");
  std::filesystem::copy_file(programs_.data_dir + "/shadow/torchrun/train.py", data_dir + "/shadow/torchrun/train.py");
  std::filesystem::copy_file(programs_.shadow, program);
  std::filesystem::create_directories(RunDir() + "/tmp");
  std::filesystem::create_directories(state_dir_ + "/nodes/n0");
  v1::ShadowSpec spec = Job(data_dir);
  for (v1::ShadowNode& node : *spec.mutable_nodes()) {
    node.mutable_agent()->set_out(RunDir() + "/agent.log");
    node.mutable_agent()->set_err(RunDir() + "/agent.log");
  }
  std::string text;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(spec, &text).ok());
  const std::string spec_file = base_ + "/spec.json";
  std::ofstream(spec_file) << text;
  std::filesystem::permissions(state_dir_, std::filesystem::perms::owner_all);
  constexpr uid_t kNobody = 65534;
  for (const std::string& directory : {state_dir_, RunDir(), RunDir() + "/tmp"})
    ASSERT_EQ(chown(directory.c_str(), kNobody, kNobody), 0);

  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Result<pid_t> child =
      coordinator::Spawn({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "up",
                          "--workload", "--spec", spec_file, "--die-with-parent", std::to_string(getpid())},
                         ends[1], base_ + "/shadow.log");
  close(ends[1]);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(Await(kLoaded, [&] { return Says(1, "step=20 "); })) << ReadText(base_ + "/shadow.log") << Logs();
  EXPECT_TRUE(Status().user_namespace);
  const std::set<std::string> namespaces = PidNamespaces(Status());

  EXPECT_EQ(engine().Down(), Ok());

  EXPECT_TRUE(ProcessesIn(namespaces).empty());
  const Result<int> exit_code = coordinator::AwaitExit(*child, clock_, clock_.Now() + seconds(30));
  ASSERT_TRUE(exit_code.ok()) << exit_code.status();
  EXPECT_EQ(*exit_code, 0);
  close(ends[0]);
}

}  // namespace
}  // namespace triodrill::testing_embedded
