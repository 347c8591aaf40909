// Repairs of the reference pipeline that need a person, a spare or an end that does not come, live: on a small
// partition (two nodes of two ranks, one spare slot), with policies of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include <cstring>

#include "tests/e2e/live_job.h"

namespace triodrill {
namespace {

using testing::LiveJob;
using testing::SendSignal;
using testing::Slurp;

constexpr std::chrono::seconds kWithin = LiveJob::kWithin;

constexpr char kSmall[] =
    "  shadow: true\n"
    "  engine: local\n"
    "  nodes:\n"
    "    - {name: n0, slots: 2, address: 10.77.0.10}\n"
    "    - {name: n1, slots: 2, address: 10.77.0.11}\n"
    "    - {name: s0, slots: 1, address: 10.77.0.20}\n"
    "  topology:\n"
    "    - {name: shard-0, level: group, members: [n0/0, n1/0]}\n"
    "    - {name: shard-1, level: group, members: [n0/1, n1/1]}\n"
    "  spares: [s0]\n"
    "  limits: {max_faulted_nodes: 1, min_alive_nodes: 1, max_hold: 1min}\n";

std::string PolicyWith(const std::string& more) {
  return "  training: {step_compute: 40ms, checkpoint_every: 20}\n"
         "  isolation: {slots_for_node: 3}\n" +
         more;
}

class ShadowRepair : public ::testing::Test {
 protected:
  ::testing::AssertionResult UpWith(const std::string& policy) {
    job_.UsePartition(kSmall);
    job_.UsePolicy(PolicyWith(policy));
    const ::testing::AssertionResult up = job_.Up();
    job_.Mark();
    return up;
  }
  std::string Log() const { return Slurp(job_.Run("pipeline.log")); }

  LiveJob job_;
};

// ---- a person's word

TEST_F(ShadowRepair, WhatIsOfTheConfirmTierWaitsForAPersonsWord) {
  ASSERT_TRUE(UpWith("  tiers: {isolate_gpu: confirm}\n"));
  SendSignal(job_.Trainer(3), SIGSTOP);
  ASSERT_TRUE(job_.Says({" awaits_confirmation action=isolate_gpu "}));
  EXPECT_EQ(job_.Said({" isolated "}) + job_.Said({" restore_ordered "}), 0) << Log();
  std::ofstream(job_.Run("confirm")).flush();
  EXPECT_TRUE(job_.Says({" isolated slot=n1/1 level=gpu "}));
  EXPECT_TRUE(job_.Says({" replaced slot=s0/0 rank=3 instead_of=n1/1"}));
  EXPECT_TRUE(job_.Says({" restored "}));
  EXPECT_TRUE(job_.Trains());
  EXPECT_FALSE(std::filesystem::exists(job_.Run("confirm"))) << "a word is good for one repair";
}

TEST_F(ShadowRepair, AWordThatDoesNotComeIsAwaitedForItsTimeAndNoLonger) {
  ASSERT_TRUE(UpWith("  tiers: {isolate_gpu: confirm}\n  bounds: {await_timeout: 2s}\n"));
  SendSignal(job_.Trainer(3), SIGSTOP);
  EXPECT_TRUE(job_.Says({" gave_up ", "nobody confirmed isolate_gpu"}));
  EXPECT_EQ(job_.Said({" isolated "}), 0) << Log();
}

// ---- the pool of spares

TEST_F(ShadowRepair, WithoutASpareItWaitsUntilQuarantineGivesASlotBack) {
  ASSERT_TRUE(UpWith("  spares: {return_after: 3s}\n"));
  for (const int rank : {1, 3}) SendSignal(job_.Trainer(rank), SIGSTOP);
  EXPECT_TRUE(job_.Says({" awaits_confirmation action=add_spare "}));
  EXPECT_TRUE(job_.Says({" returned slot="}));
  EXPECT_TRUE(job_.Says({" restored "}));
  EXPECT_TRUE(job_.Trains());
  EXPECT_EQ(job_.Said({" isolated "}), 2) << Log();
  EXPECT_GE(job_.Said({" replaced "}), 2) << Log();
}

TEST_F(ShadowRepair, WithoutASpareThatEverComesItGivesUpInTime) {
  ASSERT_TRUE(UpWith("  bounds: {await_timeout: 3s}\n"));
  SendSignal(job_.Init("n1"), SIGKILL);  // two ranks, one spare slot, and nothing of the node comes back
  EXPECT_TRUE(job_.Says({" awaits_confirmation action=add_spare "}));
  EXPECT_TRUE(job_.Says({" gave_up ", "no spare slot for rank"}));
}

// ---- a value that is wrong in each step

constexpr char kSticky[] =
    "apiVersion: triodrill/v1\n"
    "kind: Drill\n"
    "metadata: {name: sticky, category: data, severity: P1, question: \"Who computes wrongly?\"}\n"
    "spec:\n"
    "  faults:\n"
    "    - id: flip\n"
    "      inject: tensor.flip\n"
    "      target: {role: rank, pick: 1}\n"
    "      with: {tensor: gradients, bit: 24, times: 0}\n"
    "      start: {after: baseline}\n"
    "      hold: {until: isolated, max: 20s}\n"
    "  expect:\n"
    "    detection_latency: {max: 15s}\n"
    "    isolation: {at_most: node, precision: \">= 1\", recall: \">= 1\"}\n"
    "  trials: {faulted: 1, sham: 0, cooldown: 1s, seed: 42}\n"
    "  deadline: {detection: 20s, recovery: 60s}\n";

TEST_F(ShadowRepair, AReplicaThatComputesAnothersStepNamesWhoIsWrongInEach) {
  ASSERT_TRUE(UpWith("  sdc: {checks: [\"peer_replay:8\"]}\n"));
  std::ofstream(job_.partition().Path("sticky.yaml")) << kSticky;
  const auto run = job_.partition().Start(
      job_.Where({"run", job_.partition().Path("sticky.yaml"), "--out", job_.partition().Path("b")}));
  EXPECT_EQ(run->Wait(2 * kWithin), 0) << run->Err() << Slurp(job_.partition().Path("b/report.md"));
  EXPECT_EQ(job_.Said({" detected ", " fault=sdc by=peer_replay "}), 1) << Log();
  EXPECT_EQ(job_.Said({" sdc_ledger ", " check=peer_replay frequency=1 "}), 1) << Log();
}

// ---- more than nodes

// n0 n1 n2 n3 of one rank each, two spares; n1 and n2 are one parallel group.
constexpr char kFour[] =
    "  shadow: true\n"
    "  engine: local\n"
    "  nodes:\n"
    "    - {name: n0, slots: 1, address: 10.77.0.10}\n"
    "    - {name: n1, slots: 1, address: 10.77.0.11}\n"
    "    - {name: n2, slots: 1, address: 10.77.0.12}\n"
    "    - {name: n3, slots: 1, address: 10.77.0.13}\n"
    "    - {name: s0, slots: 1, address: 10.77.0.20}\n"
    "    - {name: s1, slots: 1, address: 10.77.0.21}\n"
    "  topology:\n"
    "    - {name: stage-1, level: group, members: [n1/0, n2/0]}\n"
    "  spares: [s0, s1]\n"
    "  limits: {max_faulted_nodes: 1, min_alive_nodes: 1, max_hold: 1min}\n";

int CutLink() {
  ifreq link{};
  std::strncpy(link.ifr_name, "eth0", IFNAMSIZ - 1);
  const int any = socket(AF_INET, SOCK_DGRAM, 0);
  if (any < 0 || ioctl(any, SIOCGIFFLAGS, &link) != 0) return 1;
  link.ifr_flags = static_cast<short>(link.ifr_flags & ~IFF_UP);
  return ioctl(any, SIOCSIFFLAGS, &link) == 0 ? 0 : 1;
}

class ShadowLevels : public ShadowRepair {
 protected:
  ::testing::AssertionResult UpAndCut(const std::vector<std::string>& nodes) {
    job_.UsePartition(kFour);
    job_.UsePolicy(
        "  isolation: {nodes_at_once: 1}\n  tiers: {isolate_group: auto, isolate_job: confirm}\n"
        "  bounds: {await_timeout: 30s}\n");
    if (::testing::AssertionResult up = job_.Up(); !up) return up;
    job_.Mark();
    for (const std::string& node : nodes) {
      if (testing::InNamespacesOf(job_.Init(node), CLONE_NEWNET, &CutLink) != 0) {
        return ::testing::AssertionFailure() << "cut the link of " << node;
      }
    }
    return ::testing::AssertionSuccess();
  }
};

TEST_F(ShadowLevels, BadNodesOfOneParallelGroupAreIsolatedAsThatGroup) {
  ASSERT_TRUE(UpAndCut({"n1", "n2"}));
  EXPECT_TRUE(job_.Says({" isolated slot=n1/0 level=group "}));
  EXPECT_TRUE(job_.Says({" isolated slot=n2/0 level=group "}));
  EXPECT_TRUE(job_.Says({" restored "}));
  EXPECT_TRUE(job_.Trains());
  EXPECT_EQ(job_.Said({" isolated "}), 2) << Log();
}

TEST_F(ShadowLevels, BadNodesThatNoGroupHoldsAreTheWholeJobAndAPersonIsAsked) {
  ASSERT_TRUE(UpAndCut({"n2", "n3"}));
  ASSERT_TRUE(job_.Says({" awaits_confirmation action=isolate_job "}));
  EXPECT_EQ(job_.Said({" isolated "}), 0) << Log();
  std::ofstream(job_.Run("confirm")).flush();
  EXPECT_TRUE(job_.Says({" isolated slot=n0/0 level=job "}));
  EXPECT_TRUE(job_.Says({" gave_up ", "the whole job is isolated"}));
}

// ---- a process that does not die

// Keeps a process from ending: a traced process stops on its way out and stays there until its tracer lets go. SIGKILL
// does not help, as it does not with one that sleeps in a driver.
class Undying {
 public:
  explicit Undying(pid_t pid) {
    int ends[2];
    if (pipe(ends) != 0) return;
    tracer_ = fork();
    if (tracer_ == 0) {
      if (ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) != 0) _exit(1);
      if (write(ends[1], "", 1) != 1) _exit(1);
      for (int status = 0; waitpid(pid, &status, __WALL) == pid;) {
        if (!WIFSTOPPED(status)) _exit(1);
        if (status >> 16 == PTRACE_EVENT_EXIT) continue;
        if (status >> 16 == PTRACE_EVENT_STOP) {
          ptrace(PTRACE_LISTEN, pid, nullptr, nullptr);
        } else {
          ptrace(PTRACE_CONT, pid, nullptr, WSTOPSIG(status));
        }
      }
      _exit(1);
    }
    close(ends[1]);
    char byte = 1;
    held_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  ~Undying() { LetGo(); }
  Undying(const Undying&) = delete;
  Undying& operator=(const Undying&) = delete;
  bool held() const { return held_; }
  void LetGo() {
    if (tracer_ <= 0) return;
    kill(tracer_, SIGKILL);
    waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }

 private:
  pid_t tracer_ = -1;
  bool held_ = false;
};

TEST_F(ShadowRepair, ARankThatWillNotDieKeepsItsSlotOutAndTheJobGoesOn) {
  ASSERT_TRUE(UpWith("  spares: {return_after: 1s}\n  bounds: {kill_timeout: 2s}\n"));
  const pid_t rank = job_.Trainer(3);
  Undying undying(rank);
  if (!undying.held()) GTEST_SKIP() << "a process of the sandbox cannot be traced here";
  SendSignal(rank, SIGSTOP);
  EXPECT_TRUE(job_.Says({" isolated slot=n1/1 "}));
  EXPECT_TRUE(job_.Says({" diagnosed slot=n1/1 ", "the killed trainer does not end"}));
  EXPECT_EQ(kill(rank, 0), 0) << "it was to live on";
  EXPECT_TRUE(job_.Says({" restored "}));
  EXPECT_TRUE(job_.Trains());
  EXPECT_TRUE(job_.Trains());  // several times return_after
  EXPECT_EQ(job_.Said({" returned slot=n1/1"}), 0) << Log();
  undying.LetGo();
  EXPECT_TRUE(job_.Says({" returned slot=n1/1"})) << "once it has ended";
}

}  // namespace
}  // namespace triodrill
