// Real trainers, told what a pipeline would tell them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/shadow_trainer/job.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace triodrill::shadow::trainer
