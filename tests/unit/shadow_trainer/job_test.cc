// Real trainers, told what a pipeline would tell them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "tests/unit/shadow_trainer/job.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

using testing::HasSubstr;

// An interrupted rank is free in milliseconds. Long enough for a busy machine, and only half of the collectives'
// time-out.
constexpr int kSoonMs = 15'000;

Join From(std::string source, int64_t step = 0) {
  Join join;
  join.source = std::move(source);
  join.step = step;
  return join;
}

// Every state that the job said of itself up to `step` is the fault-free run's.
void ExpectReferenceUpTo(const Job& job, int64_t step) {
  StateHashes states = job.Logged();
  states.erase(states.upper_bound(step), states.end());
  EXPECT_EQ(states, job.Reference(step));
}

// A job that has done some steps and has a checkpoint at step 20 at least.
void TrainSome(Job& job) {
  job.StartAll();
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("scratch"))));
  ASSERT_TRUE(job.Until([&] {
    const std::vector<Saved>& saved = job.rank(0).saved;
    return std::any_of(saved.begin(), saved.end(),
                       [](const Saved& one) { return one.stage == "durable" && one.step >= 20; });
  }));
}

int64_t Latest(const Job& job) { return std::stoll(ReadWhole(job.dir() + "/checkpoint/latest")); }

TEST(TrainerJob, EightRanksComeToTheStatesOfOneProcess) {
  Job job;
  job.StartAll();
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("scratch"))));
  ASSERT_TRUE(job.UntilStep(30));
  for (const int rank : job.All()) {
    EXPECT_TRUE(job.rank(rank).suspects.empty());
    EXPECT_TRUE(job.rank(rank).failed.empty());
    EXPECT_GT(job.rank(rank).beat.sent_bytes, 0U);
    job.Tell(rank, Stop{});
  }
  for (const int rank : job.All()) {
    const int status = job.Reap(rank);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  ExpectReferenceUpTo(job, 30);
}

TEST(TrainerJob, ARankThatWasKilledComesBackFromACheckpoint) {
  Job job;
  TrainSome(job);
  job.Signal(5, SIGKILL);
  job.Reap(5);
  // The others notice by themselves, and say so.
  ASSERT_TRUE(job.Until([&] {
    const auto others = job.AllBut(5);
    return std::all_of(others.begin(), others.end(), [&](int rank) { return job.rank(rank).failed.size() == 1; });
  }));
  EXPECT_FALSE(job.rank(0).failed[0].corrupt_checkpoint);
  ASSERT_TRUE(job.UntilHalted(job.AllBut(5)));
  const int64_t step = Latest(job);
  job.Start(5);
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("checkpoint", step))));
  for (const int rank : job.All()) EXPECT_EQ(job.rank(rank).joined.back().step, step);
  ASSERT_TRUE(job.UntilStep(step + 20));
  ExpectReferenceUpTo(job, step + 20);
  EXPECT_THAT(ReadWhole(job.dir() + "/progress-n2.log"),
              HasSubstr(Cat("restored step=", step, " rank=5 source=checkpoint epoch=2\n")));
}

TEST(TrainerJob, ARankThatWasKilledComesBackFromAReplicaThatLives) {
  Job job;
  TrainSome(job);
  job.Signal(0, SIGKILL);
  job.Reap(0);
  ASSERT_TRUE(job.UntilHalted(job.AllBut(0)));
  job.Start(0);
  int64_t before = 0;
  for (const int rank : job.AllBut(0)) before = std::max(before, job.rank(rank).beat.step);
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("peers"))));
  EXPECT_EQ(job.rank(0).joined.back().step, before) << "the newest step that any survivor has applied";
  const int64_t goal = job.rank(0).joined.back().step / 10 * 10 + 20;
  ASSERT_TRUE(job.UntilStep(goal));
  ExpectReferenceUpTo(job, goal);
}

TEST(TrainerJob, AHaltFreesTheOthersOfAStoppedRank) {
  Job job;
  TrainSome(job);
  job.Signal(3, SIGSTOP);
  // All the others end up waiting for it, their heartbeats going on.
  int64_t seen = -1;
  ASSERT_TRUE(job.Until([&] {
    const bool stands = job.rank(0).beat.step == seen && job.rank(0).beats > 10;
    if (job.rank(0).beat.step != seen) job.rank(0).beats = 0;
    seen = job.rank(0).beat.step;
    return stands;
  }));
  job.OrderHalt(job.AllBut(3));
  EXPECT_TRUE(job.UntilHalted(job.AllBut(3), kSoonMs));
  for (const int rank : job.AllBut(3)) EXPECT_TRUE(job.rank(rank).failed.empty()) << "it was told to; nothing broke";
  job.Signal(3, SIGCONT);
  ASSERT_TRUE(job.UntilHalted({3}));
  // Nothing is lost: at most the step that some had applied and others not.
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("kept"))));
  EXPECT_GE(job.rank(0).joined.back().step, seen - 1);
  const int64_t goal = job.rank(0).joined.back().step / 10 * 10 + 20;
  ASSERT_TRUE(job.UntilStep(goal));
  ExpectReferenceUpTo(job, goal);
}

TEST(TrainerJob, AJoinThatHangsIsGivenUpForTheNext) {
  Job job;
  job.StartAll();
  job.Signal(6, SIGSTOP);
  const int first = job.OrderJoin(From("scratch"));
  ASSERT_TRUE(job.Until([&] { return job.rank(0).beat.phase == "join" && job.rank(0).beats > 5; }));
  const int second = job.OrderJoin(From("scratch"));
  ASSERT_TRUE(job.Until([&] { return job.rank(0).beats > 10; }));
  job.OrderHalt(job.AllBut(6));
  EXPECT_TRUE(job.UntilHalted(job.AllBut(6), kSoonMs));
  job.Signal(6, SIGCONT);
  const int third = job.OrderJoin(From("scratch"));
  ASSERT_TRUE(job.UntilAllJoined(third));
  EXPECT_EQ(job.rank(0).joined.size(), 1U) << "neither epoch " << first << " nor " << second;
  ASSERT_TRUE(job.UntilStep(10));
  ExpectReferenceUpTo(job, 10);
}

TEST(TrainerJob, ACorruptCheckpointIsRefusedUnlessToldNotToLook) {
  Job job;
  TrainSome(job);
  job.OrderHalt(job.All());
  ASSERT_TRUE(job.UntilHalted(job.All()));
  const int64_t step = Latest(job);
  const std::string file = absl::StrFormat("%s/checkpoint/step-%08d/shard-1.ckpt", job.dir(), step);
  std::string bytes = ReadWhole(file);
  ASSERT_GT(bytes.size(), 4'000U);
  bytes[2'000] = static_cast<char>(bytes[2'000] ^ 0x20);
  std::ofstream(file, std::ios::binary) << bytes;

  ASSERT_TRUE(job.UntilAllFailed(job.OrderJoin(From("checkpoint", step))));
  for (const int rank : job.All()) {
    EXPECT_TRUE(job.rank(rank).failed.back().corrupt_checkpoint);
    EXPECT_THAT(job.rank(rank).failed.back().error, HasSubstr("shard-1.ckpt does not match its SHA-256"));
    EXPECT_EQ(job.rank(rank).joined.size(), 1U) << "all or none";
  }
  ASSERT_TRUE(job.UntilAllFailed(job.OrderJoin(From("checkpoint", 15))));
  EXPECT_TRUE(job.rank(0).failed.back().corrupt_checkpoint) << "what is not there cannot be restored either";

  Join blind = From("checkpoint", step);
  blind.verify = false;
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(blind)));
  ASSERT_TRUE(job.UntilStep(step + 10));
  const StateHashes logged = job.Logged();
  ASSERT_TRUE(logged.contains(step + 10));
  EXPECT_NE(logged.at(step + 10).at(1), job.Reference(step + 10).at(step + 10).at(1));
}

TEST(TrainerJob, RanksThatHaveNoStepInCommonDoNotGoOnFromMemory) {
  Job job;
  TrainSome(job);
  job.Signal(7, SIGKILL);
  job.Reap(7);
  ASSERT_TRUE(job.UntilHalted(job.AllBut(7)));
  job.Start(7);
  ASSERT_TRUE(job.UntilAllFailed(job.OrderJoin(From("kept"))));
  EXPECT_THAT(job.rank(0).failed.back().error, HasSubstr("no step in common"));
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("peers")))) << "what was kept is still there";
}

TEST(TrainerJob, PeersThatLostAWholeShardHaveNothingToGoOnFrom) {
  Job job;
  TrainSome(job);
  for (const int rank : {1, 3, 5, 7}) {
    job.Signal(rank, SIGKILL);
    job.Reap(rank);
  }
  ASSERT_TRUE(job.UntilHalted({0, 2, 4, 6}));
  for (const int rank : {1, 3, 5, 7}) job.Start(rank);
  ASSERT_TRUE(job.UntilAllFailed(job.OrderJoin(From("peers"))));
  EXPECT_THAT(job.rank(0).failed.back().error, HasSubstr("no step of which they hold every shard"));
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("checkpoint", Latest(job)))));
}

TEST(TrainerJob, ADiskThatFailsCostsTheCheckpointOnly) {
  Job job;
  std::ofstream(job.dir() + "/checkpoint") << "not a directory";
  job.StartAll();
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("scratch"))));
  ASSERT_TRUE(job.UntilStep(30));
  for (const int rank : {0, 1}) {
    const std::vector<Saved>& saved = job.rank(rank).saved;
    const auto failed =
        std::find_if(saved.begin(), saved.end(), [](const Saved& one) { return one.stage == "failed"; });
    ASSERT_NE(failed, saved.end());
    EXPECT_THAT(failed->problem, HasSubstr("checkpoint"));
    EXPECT_TRUE(std::none_of(saved.begin(), saved.end(), [](const Saved& one) { return one.stage == "durable"; }));
  }
  ExpectReferenceUpTo(job, 30);
}

TEST(TrainerJob, ATrainerEndsWithItsLauncherAndWhenAsked) {
  Job job;
  TrainSome(job);
  job.Signal(2, SIGTERM);
  EXPECT_EQ(job.Reap(2), 0);
  job.Signal(0, SIGSTOP);  // 1 and 4 may well wait for it
  job.rank(1).control.Reset();
  EXPECT_EQ(job.Reap(1), 0);
  job.Tell(4, Stop{});
  EXPECT_EQ(job.Reap(4), 0);
}

TEST(TrainerJob, OldEpochsAndOtherWorldsAreRefused) {
  Job job({.world = 2, .tensor_parallel = 1});
  job.StartAll();
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(From("scratch"))));
  Join old = From("scratch");
  old.epoch = 1;
  old.world = 2;
  old.rank = 0;
  job.Tell(0, old);
  ASSERT_TRUE(job.Until([&] { return !job.rank(0).failed.empty(); }));
  EXPECT_THAT(job.rank(0).failed.back().error, HasSubstr("epoch 1 has been"));
  Join other = old;
  other.epoch = 2;
  other.world = 4;
  job.Tell(1, other);
  ASSERT_TRUE(job.Until([&] { return !job.rank(1).failed.empty(); }));
  ASSERT_TRUE(job.Until([&] { return job.rank(1).failed.back().epoch == 2; }));
  EXPECT_THAT(job.rank(1).failed.back().error, HasSubstr("world of 2"));
}

}  // namespace
}  // namespace triodrill::shadow::trainer
