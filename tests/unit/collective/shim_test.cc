// What the shim does to a job beside corrupting it, and what it refuses to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "injectors/os/clock.h"
#include "tests/unit/collective/ranks.h"

namespace triodrill::testing {
namespace {

using collective::RuleOrder;
using ::testing::HasSubstr;

constexpr uint64_t kToken = 5;
const std::string kSum = CallLine(collective::kAllReduce, nccl::kFloat32, 64, 9);

RuleOrder FlipOf(collective::Operation operation, collective::Moment moment) {
  RuleOrder order = RuleFor(operation, collective::kCorrupt, moment);
  order.corruption.bit = 22;
  order.corruption.index = 3;
  return order;
}

ShimPage PageOf(const Ranks& job, int rank) {
  Result<ShimPage> page = job.Page(rank);
  if (!page.ok()) throw std::runtime_error(page.status().ToString());
  return std::move(*page);
}

// Until the rule holds a call: LookUntil's bound is what makes a failure.
bool Holds(const ShimPage& page, uint64_t token = kToken) {
  return LookUntil(std::chrono::seconds(20), [&] { return page.Look(token).holding > 0; });
}

TEST(Shim, LeavesAJobAloneThatNobodyDrills) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  job.TellAll(CallLine(collective::kAllReduce, nccl::kFloat32, 64, 9, 3));
  ASSERT_EQ(job.AnswerAll(), 0);
  for (int rank = 0; rank < job.count(); ++rank) {
    const ShimPage page = PageOf(job, rank);
    EXPECT_EQ(page.Calls()[collective::kAllReduce], 3u);
    EXPECT_EQ(page.Calls()[collective::kBroadcast], 0u);
    EXPECT_EQ(page.Communicators(), 1u);
    EXPECT_EQ(page.Memory(), collective::kHostMemory);
    EXPECT_TRUE(page.Changes(0).empty());
  }
}

TEST(Shim, DelaysACallAndGoesOn) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 1);
  RuleOrder order = RuleFor(collective::kAllReduce, collective::kDelay);
  order.hold_ns = 300'000'000;
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  const ShimPage::RuleLook look = page.Look(kToken);
  EXPECT_EQ(look.acted, 1u);
  EXPECT_GE(look.done_ns - look.begun_ns, order.hold_ns);
  EXPECT_EQ(look.holding, 0u);
  EXPECT_FALSE(look.armed) << "its one burst is over";
}

TEST(Shim, HangsACallUntilTheRuleIsWithdrawn) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 2);
  ASSERT_EQ(page.Arm(kToken, RuleFor(collective::kAllReduce, collective::kHang)), Ok());
  job.TellAll(kSum);
  ASSERT_TRUE(Holds(page));
  for (int rank = 0; rank < job.count(); ++rank) EXPECT_FALSE(job.HasAnswered(rank)) << rank;
  ASSERT_EQ(page.Withdraw(kToken), Ok());
  EXPECT_EQ(job.AnswerAll(), 0);
  EXPECT_FALSE(page.Look(kToken).held);
}

TEST(Shim, HangsACallNoLongerThanItsLease) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 2);
  RuleOrder order = RuleFor(collective::kAllReduce, collective::kHang);
  order.deadline_boottime_ns = Nanos(SinceBoot() + std::chrono::seconds(3)).count();
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  job.TellAll(kSum);
  ASSERT_TRUE(Holds(page) || page.Look(kToken).expired);
  EXPECT_EQ(job.AnswerAll(), 0) << "nobody withdraws it";
  EXPECT_TRUE(page.Look(kToken).expired);
  EXPECT_FALSE(page.Look(kToken).armed);
  EXPECT_GE(SinceBoot().count(), order.deadline_boottime_ns);
}

TEST(Shim, DoesNothingAfterTheLease) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  RuleOrder order = FlipOf(collective::kAllReduce, collective::kAfter);
  order.deadline_boottime_ns = SinceBoot().count();
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_TRUE(page.Look(kToken).expired);
  EXPECT_EQ(page.Look(kToken).changed, 0u);
}

TEST(Shim, WithdrawsOneRuleWhileAnotherHoldsACall) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 1);
  ASSERT_EQ(page.Arm(kToken, RuleFor(collective::kAllReduce, collective::kHang)), Ok());
  ASSERT_EQ(page.Arm(kToken + 1, RuleFor(collective::kBroadcast, collective::kHang)), Ok());
  job.TellAll(kSum);
  ASSERT_TRUE(Holds(page));
  EXPECT_EQ(page.Withdraw(kToken + 1), Ok());
  EXPECT_TRUE(page.Look(kToken).held);
  EXPECT_EQ(page.Withdraw(kToken), Ok());
  EXPECT_EQ(job.AnswerAll(), 0);
}

TEST(Shim, SaysThatARuleOfAStoppedProcessIsNotWithdrawn) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 1);
  ASSERT_EQ(page.Arm(kToken, RuleFor(collective::kAllReduce, collective::kHang)), Ok());
  job.TellAll(kSum);
  ASSERT_TRUE(Holds(page));
  ASSERT_EQ(::kill(job.pid(1), SIGSTOP), 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(page.Withdraw(kToken)));
  EXPECT_TRUE(page.Look(kToken).held);
  ASSERT_EQ(::kill(job.pid(1), SIGCONT), 0);
  EXPECT_EQ(page.Withdraw(kToken), Ok());
  EXPECT_EQ(job.AnswerAll(), 0);
}

TEST(Shim, LeavesOneRankACollectiveAhead) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 3);
  ASSERT_EQ(page.Arm(kToken, RuleFor(collective::kAllReduce, collective::kDesync)), Ok());
  job.TellAll(kSum);
  EXPECT_EQ(job.Answer(3), 0) << "it was told that all is well";
  EXPECT_EQ(page.Look(kToken).acted, 1u);
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(job.HasAnswered(rank)) << "its peers wait for it";
  // Its next collective meets their last one.
  job.TellAll(CallLine(collective::kBroadcast, nccl::kFloat32, 64, 9));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.Answer(rank), nccl::kInvalidUsage) << rank;
}

TEST(Shim, ActsAfterTheOutermostGroupOnly) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  RuleOrder order = FlipOf(collective::kAllReduce, collective::kAfter);
  order.first = 1;
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  job.TellAll(CallLine(collective::kAllReduce, nccl::kFloat32, 64, 9, 3, "group"));
  ASSERT_EQ(job.AnswerAll(), 0);
  // Had it acted in the group, what NCCL wrote at its end would have covered it.
  const Sizes sizes = SizesOf(collective::kAllReduce, 64, 4);
  for (uint64_t call = 0; call < 3; ++call) {
    const bool differs = std::memcmp(job.Received(0, call, sizes, 4), job.Received(1, call, sizes, 4), 256) != 0;
    EXPECT_EQ(differs, call == 1) << call;
  }
  ASSERT_EQ(page.Changes(kToken).size(), 1u);
  EXPECT_EQ(page.Changes(kToken)[0].call, 1u);
}

TEST(Shim, AsksACommunicatorThatDoesNotBlockUntilItIsDone) {
  JobShape shape;
  shape.blocking = false;
  shape.environment = {"TRIODRILL_FAKE_NCCL_LAG_MS=100"};
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, collective::kAfter)), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  const Sizes sizes = SizesOf(collective::kAllReduce, 64, 4);
  EXPECT_NE(std::memcmp(job.Received(0, 0, sizes, 4), job.Received(1, 0, sizes, 4), 256), 0);
  ASSERT_EQ(page.Changes(kToken).size(), 1u);
  EXPECT_EQ(page.Changes(kToken)[0].index, 3u);
}

TEST(Shim, SaysThatACallWasNotDoneWhenItFailed) {
  JobShape shape;
  shape.blocking = false;
  shape.environment = {"TRIODRILL_FAKE_NCCL_TIMEOUT_MS=1000"};
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, collective::kAfter)), Ok());
  for (int rank = 0; rank < 3; ++rank) job.Tell(rank, kSum);  // and not the fourth
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.Answer(rank), nccl::kRemoteError);
  EXPECT_EQ(page.Look(kToken).trouble, collective::kNotDone);
  EXPECT_EQ(page.Look(kToken).changed, 0u);
}

TEST(Shim, RefusesACallThatIsCapturedIntoAGraph) {
  JobShape shape;
  shape.cuda = true;
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  for (const collective::Moment moment : {collective::kBefore, collective::kAfter}) {
    ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, moment)), Ok());
    job.TellAll(CallLine(collective::kAllReduce, nccl::kFloat32, 64, 9, 1, "captured"));
    ASSERT_EQ(job.AnswerAll(), 0);
    EXPECT_EQ(page.Look(kToken).trouble, collective::kCaptured);
    EXPECT_EQ(page.Look(kToken).changed, 0u);
  }
  ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, collective::kAfter)), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_EQ(page.Look(kToken).changed, 1u) << "a stream that is not captured is no trouble";
}

TEST(Shim, LeavesTheMemoryOfAGpuAlone) {
  JobShape shape;
  shape.library = TRIODRILL_DEVICE_NCCL_DIR;
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  EXPECT_EQ(page.Memory(), collective::kInDeviceMemory);
  ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, collective::kAfter)), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_EQ(page.Look(kToken).trouble, collective::kDeviceMemory);
  EXPECT_EQ(page.Look(kToken).changed, 0u);
  RuleOrder delay = RuleFor(collective::kAllReduce, collective::kDelay);
  delay.hold_ns = 1'000'000;
  ASSERT_EQ(page.Arm(kToken, delay), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_EQ(page.Look(kToken).acted, 1u) << "a call can be held wherever its buffers are";
}

TEST(Shim, WaitsForATrainingStep) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  RuleOrder order = FlipOf(collective::kAllReduce, collective::kAfter);
  order.from_step = 3;
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  for (int step = 1; step <= 4; ++step) {
    job.TellAll(Cat("step ", step));
    ASSERT_EQ(job.AnswerAll(), 0);
    job.TellAll(kSum);
    ASSERT_EQ(job.AnswerAll(), 0);
    EXPECT_EQ(page.Look(kToken).changed, step < 3 ? 0u : 1u) << step;
  }
  EXPECT_EQ(page.Look(kToken).step, 3u);
}

TEST(Shim, KnowsTheCommunicatorsApart) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 3);
  RuleOrder order = FlipOf(collective::kAllReduce, collective::kAfter);
  order.comm_ranks = 2;
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_EQ(page.Look(kToken).matched, 0u);
  job.TellAll("split");
  ASSERT_EQ(job.AnswerAll(), 0);
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  ASSERT_EQ(page.Changes(kToken).size(), 1u);
  EXPECT_EQ(page.Changes(kToken)[0].comm_rank, 1) << "rank 3 is the second of the odd ones";
  EXPECT_EQ(page.Changes(kToken)[0].communicator, 2u);
  EXPECT_EQ(page.Communicators(), 2u);
}

TEST(Shim, PutsAStaleBlockBack) {
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 1);
  RuleOrder order = RuleFor(collective::kAllReduce, collective::kCorrupt, collective::kAfter);
  order.first = 1;
  order.stale = 1;
  order.corruption.change = corruption::kReplace;
  order.corruption.count = 64;
  ASSERT_EQ(page.Arm(kToken, order), Ok());
  const Sizes sizes = SizesOf(collective::kAllReduce, 64, 4);
  std::string first(256, '\0');
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}}) {
    job.TellAll(CallLine(collective::kAllReduce, nccl::kFloat32, 64, seed));
    ASSERT_EQ(job.AnswerAll(), 0);
    if (seed == 1) std::memcpy(first.data(), job.Received(1, 0, sizes, 4), 256);
  }
  EXPECT_EQ(std::memcmp(job.Received(1, 0, sizes, 4), first.data(), 256), 0);
  EXPECT_NE(std::memcmp(job.Received(0, 0, sizes, 4), first.data(), 256), 0);
}

TEST(Shim, SeesAnNcclThatIsLoadedLaterThroughTheAuditLibraryAlone) {
  JobShape shape;
  shape.program = TRIODRILL_RANK_LOADS;
  {
    Ranks missed(shape);
    ASSERT_EQ(missed.trouble(), "");
    missed.TellAll(kSum);
    ASSERT_EQ(missed.AnswerAll(), 0);
    EXPECT_THAT(missed.Page(0).status().ToString(), HasSubstr("LD_AUDIT"));
  }
  shape.audit = true;
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 1);
  ASSERT_EQ(page.Arm(kToken, FlipOf(collective::kAllReduce, collective::kAfter)), Ok());
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_EQ(page.Look(kToken).changed, 1u);
  EXPECT_EQ(page.Calls()[collective::kAllReduce], 1u);
}

TEST(Shim, FindsThatAnNcclThatIsLinkedInIsOutOfItsReach) {
  JobShape shape;
  shape.program = TRIODRILL_RANK_STATIC;
  shape.audit = true;
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  job.TellAll(kSum);
  ASSERT_EQ(job.AnswerAll(), 0);
  EXPECT_THAT(job.Page(0).status().ToString(), HasSubstr("no NCCL call has come through it"));
}

TEST(Shim, IsMissedWhereItIsNotPreloaded) {
  JobShape shape;
  shape.preload = false;
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  EXPECT_THAT(job.Page(0).status().ToString(), HasSubstr("LD_PRELOAD"));
}

TEST(Shim, HasEightPlacesAndGivesThemBack) {
  Ranks job(JobShape{.ranks = 1});
  ASSERT_EQ(job.trouble(), "");
  ShimPage page = PageOf(job, 0);
  for (uint64_t token = 1; token <= collective::kMostRules; ++token) {
    ASSERT_EQ(page.Arm(token, RuleFor(collective::kReduce, collective::kDelay)), Ok());
  }
  EXPECT_EQ(page.FreeRules(), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(page.Arm(99, RuleFor(collective::kReduce, collective::kDelay))));
  for (uint64_t token = 1; token <= collective::kMostRules; ++token) ASSERT_EQ(page.Withdraw(token), Ok());
  EXPECT_EQ(page.FreeRules(), 8);
}

}  // namespace
}  // namespace triodrill::testing
