// Real trainers whose tensors are damaged, as an agent does it: by a rule on the page that they share.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/unit/shadow_trainer/job.h"
#include "triodrill/text.h"
#include "triodrill/workload/page.h"

namespace triodrill::shadow::trainer {
namespace {

using workload::Page;
using workload::RuleOrder;

int64_t BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class PageOf {
 public:
  explicit PageOf(pid_t pid) {
    for (const auto& entry : std::filesystem::directory_iterator(Cat("/proc/", pid, "/fd"))) {
      std::error_code ignored;
      if (std::filesystem::read_symlink(entry.path(), ignored) != workload::kPageLink) continue;
      const OwnedFd fd(open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
      page_ = static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    }
  }
  ~PageOf() {
    if (page_ != nullptr) munmap(page_, sizeof(Page));
  }
  PageOf(const PageOf&) = delete;
  PageOf& operator=(const PageOf&) = delete;
  Page* get() const { return page_; }

 private:
  Page* page_ = nullptr;
};

// Flips one bit, once.
void Flip(Page& page, const char* tensor, const char* phase, uint32_t bit) {
  RuleOrder order{};
  order.kind = workload::kFlip;
  order.pick = workload::kByIndex;
  order.bit = bit;
  order.elements = 1;
  order.index = 777;
  order.times = 1;
  order.deadline_boottime_ns = BootTime() + 60'000'000'000;
  std::strcpy(order.tensor, tensor);
  std::strcpy(order.phase, phase);
  page.rules[0].owner = 0x1234;
  page.rules[0].order = order;
  page.armed.fetch_or(1U);
}

struct Damage {
  const char* tensor;
  const char* phase;
  const char* check;  // that finds it
};

class TrainerJobDamage : public testing::TestWithParam<Damage> {};

TEST_P(TrainerJobDamage, IsNamedByAllAndAppliedByNobody) {
  const Damage& damage = GetParam();
  Job job;
  job.StartAll();
  Join join;
  join.source = "scratch";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  ASSERT_TRUE(job.UntilStep(12));
  const int victim = 5;
  const PageOf page(job.rank(victim).pid);
  ASSERT_NE(page.get(), nullptr);
  EXPECT_EQ(page.get()->rank, uint64_t{victim} << 32 | 8U);
  Flip(*page.get(), damage.tensor, damage.phase, 20);
  const std::vector<int> all = job.All();
  const auto suspects = [&](int rank) { return !job.rank(rank).suspects.empty(); };
  ASSERT_TRUE(job.Until([&] { return std::all_of(all.begin(), all.end(), suspects); }));
  ASSERT_TRUE(job.UntilHalted(all));
  EXPECT_EQ(page.get()->rules[0].fired, 1U);
  const int64_t step = job.rank(0).suspects[0].step;
  for (const int rank : all) {
    const Suspect& suspect = job.rank(rank).suspects[0];
    EXPECT_EQ(suspect.check, damage.check) << suspect.detail;
    EXPECT_EQ(suspect.rank, victim) << suspect.detail;
    EXPECT_EQ(suspect.step, step);
    EXPECT_EQ(job.rank(rank).beat.step, step - 1);
    EXPECT_TRUE(job.rank(rank).failed.empty()) << job.rank(rank).failed[0].error;
  }
  // The state was not harmed, or is brought back from a replica; then the step is made again.
  join.source = "peers";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  EXPECT_EQ(job.rank(0).joined.back().step, step - 1);
  const int64_t goal = step / 10 * 10 + 20;
  ASSERT_TRUE(job.UntilStep(goal));
  StateHashes states = job.Logged();
  states.erase(states.upper_bound(goal), states.end());
  states.erase(states.begin(), states.lower_bound(goal));
  StateHashes reference = job.Reference(goal);
  reference.erase(reference.begin(), reference.lower_bound(goal));
  EXPECT_EQ(states, reference);
}

INSTANTIATE_TEST_SUITE_P(Each, TrainerJobDamage,
                         testing::Values(Damage{"gradients", "gradients", "collective_checksum"},
                                         Damage{"reduced_gradients", "reduced", "gradient_hash"},
                                         Damage{"weights", "applied", "state_hash"},
                                         Damage{"optimizer", "applied", "state_hash"}),
                         [](const testing::TestParamInfo<Damage>& one) { return std::string(one.param.tensor); });

// A copy that was taken between the damage and the check that finds it must never become a checkpoint.
TEST(TrainerJobHostCopy, IsNotWrittenBeforeItsStateWasAgreedOn) {
  Job job({.world = 4, .tensor_parallel = 1, .step_compute = "10ms"});
  job.StartAll();
  Join join;
  join.source = "scratch";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  const PageOf page(job.rank(0).pid);  // the rank that writes
  ASSERT_NE(page.get(), nullptr);
  ASSERT_TRUE(job.Until([&] { return page.get()->step >= 10; }));
  Flip(*page.get(), "weights", "checkpoint.host", 20);  // just before the copy is taken, at step 20
  ASSERT_TRUE(job.Until([&] { return !job.rank(3).suspects.empty(); }));
  EXPECT_EQ(job.rank(3).suspects[0].step, 21);
  EXPECT_EQ(job.rank(3).suspects[0].check, "state_hash");
  EXPECT_EQ(job.rank(3).suspects[0].rank, 0);
  ASSERT_TRUE(job.UntilHalted(job.All()));
  EXPECT_EQ(ReadWhole(job.dir() + "/checkpoint/latest"), "10\n");
  EXPECT_FALSE(std::filesystem::exists(job.dir() + "/checkpoint/step-00000020"));
}

}  // namespace
}  // namespace triodrill::shadow::trainer
