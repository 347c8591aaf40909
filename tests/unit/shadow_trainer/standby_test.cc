// A standby: a trainer that is up and has no rank, seen from its launcher's side and from an agent's, until it has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "injectors/agent/rank_scan.h"
#include "tests/unit/shadow_trainer/job.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

using testing::HasSubstr;

// As the reference pipeline's profile describes a rank.
agent::RankScan Scan() {
  v1::RankProcess how;
  how.set_command_line(R"(^\S*triodrill-trainer --rank \d+ )");
  return *agent::RankScan::Of(how);
}

// The process that the scan finds to be a rank now, if it is `pid`.
std::optional<v1::RankFound> Find(agent::RankScan& scan, pid_t pid, TimePoint now) {
  for (v1::RankFound& found : scan.Look(now)) {
    if (found.process().pid() == pid) return std::move(found);
  }
  return std::nullopt;
}

TEST(RankInTheEnvironment, IsAwaitedWhereThereIsAPlaceAndNoNumber) {
  const std::string_view none("A=1\0WORLD_SIZE=8\0", 17);
  EXPECT_FALSE(agent::AwaitsNumber(none, "RANK"));
  const std::string_view standby("LOCAL_RANK=1\0RANK=standby\0", 26);
  EXPECT_TRUE(agent::AwaitsNumber(standby, "RANK"));
  EXPECT_EQ(agent::NumberFromEnvironment(standby, "RANK"), -1);
  const std::string_view rank("LOCAL_RANK=1\0RANK=0000004\0", 26);
  EXPECT_FALSE(agent::AwaitsNumber(rank, "RANK"));
  EXPECT_EQ(agent::NumberFromEnvironment(rank, "RANK"), 4);
}

TEST(Standby, TakesARanksPlaceAtTheStepWhereTheJobStoodAndIsSeenAsThatRankFromThenOn) {
  Job job;
  job.StartAll();
  Join join;
  join.source = "scratch";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  ASSERT_TRUE(job.UntilStep(25));
  job.Signal(5, SIGKILL);
  job.Reap(5);
  job.StartStandby(5);
  ASSERT_TRUE(job.Until([&] { return job.rank(5).beats > 3; })) << "it says hello and beats its heart";
  EXPECT_EQ(job.rank(5).beat.phase, "idle");

  agent::RankScan scan = Scan();
  TimePoint now;
  EXPECT_FALSE(Find(scan, job.rank(5).pid, now)) << "no rank yet";
  // Long past the time in which an agent looks closely at what is new.
  now += std::chrono::seconds(60);
  EXPECT_FALSE(Find(scan, job.rank(5).pid, now));

  ASSERT_TRUE(job.UntilHalted(job.AllBut(5)));
  int64_t stood = 0;
  for (const int rank : job.AllBut(5)) stood = std::max(stood, job.rank(rank).beat.step);
  join.source = "peers";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  EXPECT_EQ(job.rank(5).joined.back().step, stood);
  const auto found = Find(scan, job.rank(5).pid, now + std::chrono::milliseconds(50));
  ASSERT_TRUE(found) << ReadWhole(Cat("/proc/", job.rank(5).pid, "/cmdline"));
  EXPECT_EQ(found->rank(), 5);
  EXPECT_EQ(found->local_rank(), 1);
  EXPECT_THAT(found->command_line(), HasSubstr("triodrill-trainer --rank 0000005 --local-rank 1 "));
  EXPECT_FALSE(Find(scan, job.rank(5).pid, now + std::chrono::milliseconds(100))) << "said once";

  const int64_t goal = stood / 10 * 10 + 20;
  ASSERT_TRUE(job.UntilStep(goal));
  StateHashes states = job.Logged();
  states.erase(states.upper_bound(goal), states.end());
  EXPECT_EQ(states, job.Reference(goal)) << "as if nothing had happened";
}

}  // namespace
}  // namespace triodrill::shadow::trainer
