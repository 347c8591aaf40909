// Real trainers on shadow GPUs: a slow clock makes their rank slow and changes nothing else; a lost GPU ends its rank.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/unit/shadow_gpu/gpu_dir.h"
#include "tests/unit/shadow_trainer/job.h"

namespace triodrill::shadow::gpu {
namespace {

using trainer::Job;

trainer::JobOptions SmallJobOn(const GpuDir& gpus) {
  trainer::JobOptions options;
  options.world = 2;
  options.step_compute = "4ms";
  options.gpu_state = gpus.file();
  return options;
}

TEST(GpuTrainer, IsSlowedByItsOwnClockAloneAndComputesTheSame) {
  constexpr int64_t kStepNs = 4'000'000;
  const GpuDir gpus;
  Job job(SmallJobOn(gpus));
  const Result<MappedState> state = MappedState::Open(gpus.file(), true);
  ASSERT_TRUE(state.ok()) << state.status();
  (*state)->gpus[1].locked_sm = PackRange(210, 210);
  job.StartAll();
  const int epoch = job.OrderJoin({.source = "scratch"});
  ASSERT_TRUE(job.UntilAllJoined(epoch));
  ASSERT_TRUE(job.UntilStep(20));
  // What its kernel waits is what the clocks' ratio makes of it; the machine may only add to that.
  EXPECT_GE(job.rank(1).beat.compute_ns, kStepNs * 1980 / 210);
  EXPECT_GE(job.rank(0).beat.compute_ns, kStepNs);
  const trainer::StateHashes logged = job.Logged();
  const trainer::StateHashes reference = job.Reference(20);
  EXPECT_EQ(logged.at(20), reference.at(20));
}

TEST(GpuTrainer, EndsWithItsGpu) {
  const GpuDir gpus;
  Job job(SmallJobOn(gpus));
  job.StartAll();
  const int epoch = job.OrderJoin({.source = "scratch"});
  ASSERT_TRUE(job.UntilAllJoined(epoch));
  ASSERT_TRUE(job.UntilStep(2));
  gpus.Set(1, "lost=1");
  const int status = job.Reap(1);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 70);
  const std::string said = trainer::ReadWhole(job.dir() + "/1.err");
  EXPECT_NE(said.find("is lost: it has fallen off the bus"), std::string::npos) << said;
  ASSERT_TRUE(job.Until([&] { return !job.rank(0).failed.empty(); })) << "its peer's collective breaks";
}

}  // namespace
}  // namespace triodrill::shadow::gpu
