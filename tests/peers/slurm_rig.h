// The distribution's Slurm: munged, slurmctld and four slurmd, n1 to n4, all of them real, on loopback ports that were
// free a moment ago, each in a pid namespace of its own (node_init) so that a node can be lost as a whole, in a
// directory of the test's own. A job on three of the nodes, and the fourth to spare.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/os/clock.h"
#include "tests/e2e/program.h"
#include "tests/peers/peer.h"

namespace triodrill::testing {

// The directory with Slurm's plugins and libslurmfull.so; "" if there is none.
inline std::string SlurmPlugins() {
  for (const std::string& root : {absl::StrCat(kPeers, "usr/lib"), std::string("/usr/lib")}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(root, none)) {
      const std::string plugins = absl::StrCat(entry.path().string(), "/slurm-wlm");
      if (access((plugins + "/libslurmfull.so").c_str(), R_OK) == 0) return plugins;
    }
  }
  return "";
}

// The reason why it cannot be run here; "" if it can.
inline std::string WhyNoSlurm() {
  if (geteuid() != 0) return "slurmd needs root: it starts jobs as others";
  for (const char* file : {"usr/sbin/slurmctld-wlm", "usr/sbin/slurmd-wlm", "usr/sbin/slurmstepd-wlm",
                           "usr/sbin/munged", "usr/bin/sinfo", "usr/bin/squeue", "usr/bin/sbatch", "usr/bin/srun"}) {
    if (access(PeerFile(file).c_str(), X_OK) != 0) {
      return absl::StrCat(file, " is neither unpacked nor installed; run ./dev setup");
    }
  }
  return SlurmPlugins().empty() ? "Slurm's plugins are neither unpacked nor installed; run ./dev setup" : "";
}

class RealSlurm {
 public:
  static constexpr int kNodes = 4;

  RealSlurm() : ports_(FreePorts(kNodes + 1)) {
    for (const char* name : {"state", "munge", "log"}) std::filesystem::create_directories(dir_ / name);
    std::filesystem::permissions(dir_ / "munge", std::filesystem::perms::owner_all);
    Write("slurm.conf", Configuration());
    Write("job.sh", Job());
    Write("task.sh", Task());
    std::filesystem::permissions(dir_ / "task.sh", std::filesystem::perms::owner_all);
    std::ofstream(dir_ / "munge/key") << std::string(1024, 'k');
    std::filesystem::permissions(dir_ / "munge/key", std::filesystem::perms::owner_read);
    // For every program that is started from here on, the coordinator's sinfo and squeue among them.
    setenv("LD_LIBRARY_PATH", absl::StrCat(SlurmPlugins(), ":", SlurmPlugins(), "/..").c_str(), 1);
    setenv("SLURM_CONF", conf().c_str(), 1);
  }
  ~RealSlurm() {
    for (auto& node : nodes_) End(node);
    End(controller_);
    End(munged_);
    unsetenv("SLURM_CONF");
    unsetenv("LD_LIBRARY_PATH");
  }

  void Start() {
    munged_ = InNode("munged", {PeerFile("usr/sbin/munged"), "--foreground", "--force", "--num-threads=1",
                                "--key-file=" + dir_ / "munge/key", "--socket=" + dir_ / "munge/socket",
                                "--pid-file=" + dir_ / "munge/pid", "--log-file=" + dir_ / "munge/log",
                                "--seed-file=" + dir_ / "munge/seed"});
    ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] {
      return access((dir_ / "munge/socket").c_str(), F_OK) == 0;
    })) << munged_->Err();
    StartController(/*anew=*/true);
    for (int i = 1; i <= kNodes; ++i) StartNode(i);
    ASSERT_TRUE(Eventually(std::chrono::seconds(60),
                           [&] {
                             return Tell({"sinfo", "-h", "-o", "%D %T"}) == "4 idle\n";
                           }))
        << Tell({"sinfo", "-N", "-l"}) << controller_->Err();
  }
  void StartController(bool anew) {
    std::vector<std::string> argv = {PeerFile("usr/sbin/slurmctld-wlm"), "-D", "-f", conf()};
    if (anew) argv.emplace_back("-c");
    controller_ = InNode("slurmctld", argv);
  }
  void StartNode(int i) {
    nodes_[static_cast<size_t>(i - 1)] =
        InNode(absl::StrCat("n", i), {PeerFile("usr/sbin/slurmd-wlm"), "-D", "-f", conf(), "-N", absl::StrCat("n", i),
                                      "-d", PeerFile("usr/sbin/slurmstepd-wlm")});
  }
  // All that runs on it is killed at once, and is gone when this returns.
  void LoseNode(int i) { End(nodes_[static_cast<size_t>(i - 1)]); }
  void LoseController() { End(controller_); }

  // Submits the job and waits until each of its three tasks has made a step, and the controller has saved where it
  // runs: one that is killed before would start it a second time.
  void StartJob() {
    ASSERT_NE(Tell({"sbatch", "--parsable", dir_ / "job.sh"}), "");
    ASSERT_TRUE(Eventually(std::chrono::seconds(60),
                           [&] {
                             return Steps("n1") > 0 && Steps("n2") > 0 && Steps("n3") > 0 &&
                                    absl::StrContains(Slurp(dir_ / "state/job_state"), "n[1-3]");
                           }))
        << Tell({"squeue"}) << Slurp(dir_ / "job.out");
  }
  // The job's tasks end with 3 at their next step.
  void FailJob() { Write("fail", ""); }
  size_t Steps(const std::string& node) const {
    const std::string text = Slurp(dir_ / absl::StrCat("progress-", node, ".log"));
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  // What a command of Slurm's says; "" if it fails.
  std::string Tell(std::vector<std::string> argv) {
    argv[0] = PeerProgram(argv[0]);
    Program program(std::move(argv), dir_ / "tell.out", dir_ / "tell.err");
    return program.Wait(std::chrono::seconds(60)) == 0 ? program.Out() : "";
  }

  std::string conf() const { return dir_ / "slurm.conf"; }
  std::string log() const { return dir_ / "log/slurmctld.log"; }
  std::string Path(const std::string& name) const { return dir_ / name; }
  std::string commands() const { return std::filesystem::path(PeerProgram("sinfo")).parent_path().string(); }
  coordinator::SystemClock& clock() { return clock_; }

 private:
  void Write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  std::unique_ptr<Program> InNode(const std::string& name, std::vector<std::string> argv) {
    argv.insert(argv.begin(), TRIODRILL_NODE_INIT);
    return std::make_unique<Program>(std::move(argv), dir_ / absl::StrCat(name, ".out"),
                                     dir_ / absl::StrCat(name, ".err"));
  }
  static void End(std::unique_ptr<Program>& program) {
    if (program == nullptr) return;
    program->Signal(SIGTERM);
    EXPECT_TRUE(program->Wait(std::chrono::seconds(60)).has_value());
    program.reset();
  }

  std::string Configuration() const {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const std::string name = std::string(host).substr(0, std::string(host).find('.'));
    std::string text = absl::StrCat(
        "ClusterName=shadow\nSlurmctldHost=", name, "(127.0.0.1)\nSlurmctldPort=", ports_[0],
        "\nSlurmUser=root\nAuthType=auth/munge\nAuthInfo=socket=", dir_ / "munge/socket",
        ",cred_expire=5\nPluginDir=", SlurmPlugins(), "\nStateSaveLocation=", dir_ / "state",
        "\nSlurmdSpoolDir=", dir_ / "spool-%n", "\nSlurmctldPidFile=", dir_ / "slurmctld.pid",
        "\nSlurmdPidFile=", dir_ / "%n.pid", "\nSlurmctldLogFile=", log(), "\nSlurmdLogFile=", dir_ / "log/%n.log");
    absl::StrAppend(&text,
                    "\nSlurmctldDebug=verbose\nSlurmdDebug=verbose\nLogTimeFormat=iso8601_ms\nMailProg=/bin/true\n"
                    "ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n"
                    "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                    "SlurmdTimeout=10\nSlurmctldTimeout=10\nReturnToService=2\nKillWait=2\n"
                    "SchedulerParameters=bf_interval=2,sched_interval=2\n"
                    "AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n");
    for (int i = 1; i <= kNodes; ++i) {
      absl::StrAppend(&text, "NodeName=n", i, " NodeAddr=127.0.0.1 NodeHostname=", name,
                      " Port=", ports_[static_cast<size_t>(i)], " CPUs=1 RealMemory=100 State=UNKNOWN\n");
    }
    return absl::StrCat(text, "PartitionName=shadow Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP\n");
  }
  std::string Job() const {
    return absl::StrCat("#!/bin/bash\n#SBATCH -J drill -N3 --ntasks-per-node=1 --requeue --open-mode=append -o ",
                        dir_ / "job.out", "\nexec ", PeerProgram("srun"), " ", dir_ / "task.sh", "\n");
  }
  std::string Task() const {
    return absl::StrCat("#!/bin/bash\nfor ((i = 1; ; ++i)); do\n  test -e ", dir_ / "fail",
                        " && exit 3\n  echo \"step=$i rank=$SLURM_PROCID local_rank=0 \" >> ",
                        dir_ / "progress-$SLURMD_NODENAME.log", "\n  sleep 0.2\ndone\n");
  }

  TempDir dir_;
  coordinator::SystemClock clock_;
  std::vector<int> ports_;
  std::unique_ptr<Program> munged_, controller_;
  std::array<std::unique_ptr<Program>, kNodes> nodes_;
};

}  // namespace triodrill::testing
