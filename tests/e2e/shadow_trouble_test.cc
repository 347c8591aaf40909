// The embedded shadow partition in trouble that is not a drill: a full disk, a foreign listener, parts of it that die.
// The job goes on, or what is dead is said; nothing is left afterwards.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <algorithm>

#include "tests/e2e/live_job.h"

namespace triodrill {
namespace {

using testing::Eventually;
using testing::FillDisk;
using ::testing::HasSubstr;
using testing::InNamespacesOf;
using testing::LiveJob;
using testing::SendSignal;
using testing::Slurp;

constexpr std::chrono::seconds kWithin = LiveJob::kWithin;

// ---- a disk that is full under the checkpoints

// "step-00000040"; "none" as long as there is none.
std::string LatestIn(const std::string& directory) {
  const std::string text = Slurp(directory + "/latest");
  const std::string step = text.substr(0, text.find('\n'));
  return step.empty() ? "none" : "step-" + std::string(8 - std::min<size_t>(8, step.size()), '0') + step;
}

TEST(ShadowTrouble, AFullDiskUnderTheCheckpointsIsSaidAndCostsNobody) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  const pid_t node = job.Init("n0");  // the first replica writes, and the same ranks read
  const std::string directory = job.Run("checkpoint");
  ASSERT_TRUE(Eventually(kWithin, [&] { return std::filesystem::exists(directory); }));
  const int mounted = InNamespacesOf(
      node, CLONE_NEWNS, [&] { return mount("small", directory.c_str(), "tmpfs", 0, "size=512k") == 0 ? 0 : 1; });
  if (mounted != 0) GTEST_SKIP() << "a small file system cannot be mounted in the node's namespace";
  const std::string seen = "/proc/" + std::to_string(node) + "/root" + directory;
  // `latest` may still be moved to one that was written before the mount.
  ASSERT_TRUE(
      Eventually(kWithin, [&] { return std::filesystem::exists(seen + "/" + LatestIn(seen) + "/shard-1.ckpt"); }));

  job.Mark();
  // A checkpoint that was just being finished gives the room of the oldest one back, so it is filled until it is felt.
  ASSERT_TRUE(Eventually(kWithin, [&] {
    FillDisk(seen + "/ballast");
    return job.Said({" checkpoint_not_saved slot=n0/", "No space left"}) > 1;
  })) << Slurp(job.Run("pipeline.log"));
  const std::string latest = Slurp(seen + "/latest");
  ASSERT_TRUE(std::filesystem::exists(seen + "/" + LatestIn(seen) + "/shard-0.ckpt"));
  EXPECT_TRUE(job.Trains());
  EXPECT_TRUE(job.Trains());
  EXPECT_EQ(Slurp(seen + "/latest"), latest);
  for (const char* blame : {" suspected ", " detected ", " isolated ", " restore_ordered "}) {
    EXPECT_EQ(job.Said({blame}), 0) << Slurp(job.Run("pipeline.log"));
  }

  SendSignal(job.Trainer(3), SIGKILL);
  EXPECT_TRUE(job.Says({" restore_ordered source=checkpoint step=" + latest.substr(0, latest.find('\n')) + " "}));
  EXPECT_TRUE(job.Says({" restored step=" + latest.substr(0, latest.find('\n')) + " "}));
  EXPECT_TRUE(job.Trains());

  std::filesystem::remove(seen + "/ballast");
  EXPECT_TRUE(Eventually(kWithin, [&] { return Slurp(seen + "/latest") != latest; }))
      << "saved again once there is room";
}

// ---- a port that somebody else has

// Listens on a node's 127.0.0.1:9400, where its GPUs' exporter wants to, until it is destroyed.
class ForeignListener {
 public:
  explicit ForeignListener(pid_t node) {
    int ends[2];
    if (pipe(ends) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      const int target = static_cast<int>(syscall(SYS_pidfd_open, node, 0));
      const int which = CLONE_NEWNET | (geteuid() != 0 ? CLONE_NEWUSER : 0);
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_port = htons(9400);
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (target < 0 || setns(target, which) != 0) _exit(1);
      const int listener = socket(AF_INET, SOCK_STREAM, 0);
      while (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) poll(nullptr, 0, 10);
      if (listen(listener, 1) != 0 || write(ends[1], "", 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    close(ends[1]);
    pollfd ready{ends[0], POLLIN, 0};
    char byte = 1;
    listens_ = poll(&ready, 1, 10'000) == 1 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  ~ForeignListener() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ForeignListener(const ForeignListener&) = delete;
  ForeignListener& operator=(const ForeignListener&) = delete;
  bool listens() const { return listens_; }

 private:
  pid_t child_ = -1;
  bool listens_ = false;
};

// All other ports of the job are the kernel's choice.
TEST(ShadowTrouble, APortThatIsTakenCostsTheExporterAlone) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  SendSignal(job.Exporter("n1"), SIGKILL);
  const ForeignListener foreign(job.Init("n1"));
  ASSERT_TRUE(foreign.listens());
  SendSignal(job.Launcher("n1"), SIGKILL);
  ASSERT_TRUE(Eventually(kWithin, [&] { return !job.Node("n1").at("workload").at("running").get<bool>(); }));
  EXPECT_TRUE(job.Up()) << "the job is started anew, beside the foreign listener";
  EXPECT_TRUE(Eventually(kWithin, [&] {
    const std::string said = Slurp(job.Run("n1.err"));
    return absl::StrContains(said, "listen on 127.0.0.1:9400") && absl::StrContains(said, "Address already in use") &&
           absl::StrContains(said, "nobody publishes them");
  })) << Slurp(job.Run("n1.err"));
}

// ---- parts that die

TEST(ShadowTrouble, AKilledPipelineComesBackAndAdoptsWhatRuns) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  job.Mark();
  const pid_t before = job.Pipeline();
  SendSignal(before, SIGKILL);
  ASSERT_TRUE(Eventually(kWithin, [&] { return kill(before, 0) != 0; }));
  EXPECT_TRUE(job.Trains());
  EXPECT_NE(job.Pipeline(), before);
  EXPECT_EQ(job.Said({" isolated "}), 0) << Slurp(job.Run("pipeline.log"));
  SendSignal(job.Trainer(5), SIGKILL);
  EXPECT_TRUE(job.Says({" detected slot=n2/1 rank=5 "}));
  EXPECT_TRUE(job.Says({" restored "}));
  EXPECT_TRUE(job.Trains());
}

TEST(ShadowTrouble, AKilledAgentIsStartedAgainAndTheJobDoesNotNotice) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  job.Mark();
  const pid_t before = job.Agent("n1");
  SendSignal(before, SIGKILL);
  EXPECT_TRUE(Eventually(kWithin, [&] {
    const auto agent = job.Node("n1").at("agent");
    return agent.at("running").get<bool>() && agent.at("pid").get<pid_t>() != before;
  })) << job.said();
  EXPECT_TRUE(job.Trains());
  // A rank that computes slowly is the machine's doing, which has more to do than this test.
  EXPECT_EQ(job.Said({" detected "}) - job.Said({" detected ", " fault=straggler "}), 0)
      << Slurp(job.Run("pipeline.log"));
}

TEST(ShadowTrouble, AKilledLauncherTakesItsRanksAndTheSparesTakeOver) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  job.Mark();
  SendSignal(job.Launcher("n1"), SIGKILL);
  EXPECT_TRUE(job.Says({" isolated slot=n1/0 "}));
  EXPECT_TRUE(job.Says({" isolated slot=n1/1 "}));
  EXPECT_TRUE(job.Says({" restored "}));
  EXPECT_TRUE(job.Trains());
  EXPECT_FALSE(job.Node("n1").at("workload").at("running").get<bool>());
  EXPECT_EQ(job.Node("n1").at("workload").at("exit_code"), -SIGKILL);
}

// The pipeline is its child and goes with it. Nobody decides any more; the partition says so, and `up` begins anew.
TEST(ShadowTrouble, AKilledFirstLauncherIsSaidAndUpStartsTheJobAnew) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  SendSignal(job.Launcher("n0"), SIGKILL);
  EXPECT_TRUE(Eventually(kWithin, [&] { return !job.Node("n0").at("workload").at("running").get<bool>(); }));
  EXPECT_EQ(job.Node("n0").at("workload").at("exit_code"), -SIGKILL);
  EXPECT_TRUE(job.Up());
  EXPECT_TRUE(job.Node("n0").at("workload").at("running").get<bool>());
}

TEST(ShadowTrouble, AKilledNodeIsLostAndTheJobGoesOnWithoutIt) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  job.Mark();
  SendSignal(job.Init("n2"), SIGKILL);
  EXPECT_TRUE(job.Says({" detected ", "node=n2 fault=node_lost"}));
  EXPECT_TRUE(job.Says({" isolated slot=n2/0 level=node "}));
  EXPECT_TRUE(job.Says({" restored "}));
  EXPECT_TRUE(job.Trains());
  EXPECT_TRUE(job.Node("n2").at("lost").get<bool>());
  EXPECT_EQ(job.Verb("status"), 0);
  EXPECT_THAT(job.said(), HasSubstr("LOST"));
  EXPECT_EQ(job.Verb("up"), 69);
  EXPECT_THAT(job.said(), HasSubstr("lost for good: n2"));
  EXPECT_TRUE(job.Trains()) << "what still runs is left alone";
}

TEST(ShadowTrouble, AKilledSupervisorTakesEverythingWithItAndDownSaysSo) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  SendSignal(job.Supervisor(), SIGKILL);
  EXPECT_TRUE(Eventually(kWithin, [&] { return testing::ProgramsOf(job.partition().state_dir()).empty(); }));
  EXPECT_EQ(job.Verb("status"), 0);
  EXPECT_THAT(job.said(), HasSubstr("down"));
  EXPECT_EQ(job.Verb("down"), 0);
  EXPECT_THAT(job.said(), HasSubstr("was not up"));
  EXPECT_TRUE(job.Up()) << "a new one comes up on what is left";
}

TEST(ShadowTrouble, DownTwiceIsDown) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  EXPECT_EQ(job.Verb("down"), 0);
  EXPECT_THAT(job.said(), HasSubstr("down, nothing is left"));
  EXPECT_EQ(job.Verb("down"), 0);
  EXPECT_THAT(job.said(), HasSubstr("was not up; nothing is left"));
}

// ---- two who want it

TEST(ShadowTrouble, WhileADrillRunsNobodyElseGetsThePartition) {
  LiveJob job;
  ASSERT_TRUE(job.Up());
  const std::string drill = TRIODRILL_SOURCE_DIR "/drills/library/control/no-fault.yaml";
  const auto run = [&](const std::string& out) {
    return job.partition().Start(job.Where({"run", drill, "--out", job.partition().Path(out)}));
  };
  const auto first = run("b1");
  const std::string timeline = job.partition().Path("b1/timeline.jsonl");
  ASSERT_TRUE(Eventually(kWithin, [&] { return testing::CountLines(timeline, "\"progress\":{") > 0; })) << first->Err();
  const auto second = run("b2");
  EXPECT_EQ(second->Wait(kWithin), 3) << second->Err();
  EXPECT_THAT(second->Err(), HasSubstr("another run has this partition"));
  EXPECT_FALSE(std::filesystem::exists(job.partition().Path("b2")));
  EXPECT_EQ(job.Verb("down"), 3);
  EXPECT_THAT(job.said(), HasSubstr("a drill runs on this partition"));
  first->Signal(SIGINT);
  EXPECT_EQ(first->Wait(kWithin), 4) << first->Err();
  EXPECT_TRUE(job.Trains()) << "it was up before the run, and is up after it";
}

}  // namespace
}  // namespace triodrill
