// The library as a job sees it, with this test as the agent: it finds the page through /proc and arms rules.
#include "triodrill/workload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "triodrill/workload/page.h"

namespace triodrill::workload {
namespace {

int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Descriptors of this process that are pages.
std::vector<int> PageDescriptors() {
  std::vector<int> found;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    char link[256] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), link, sizeof(link) - 1) > 0 && std::string(link) == kPageLink) {
      found.push_back(std::stoi(entry->d_name));
    }
  }
  closedir(directory);
  return found;
}

class Workload : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(triodrill_attach(3, 8), 0);
    const std::vector<int> fds = PageDescriptors();
    ASSERT_EQ(fds.size(), 1u);
    // Opened anew, as another process would.
    const int fd = open(("/proc/self/fd/" + std::to_string(fds[0])).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    page_ = static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(page_, MAP_FAILED);
    const int seals = fcntl(fd, F_GET_SEALS);
    EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW), F_SEAL_SHRINK | F_SEAL_GROW);
    EXPECT_NE(ftruncate(fd, 1), 0) << "a page that shrinks would kill whoever reads it";
    close(fd);
    reduced_ = triodrill_phase_id("reduced");
    other_ = triodrill_phase_id("applied");
    ASSERT_EQ(triodrill_register_tensor("gradients", values_.data(), values_.size(), TRIODRILL_FLOAT32), 0);
  }
  void TearDown() override {
    triodrill_detach();
    munmap(page_, sizeof(Page));
  }

  RuleOrder Order(RuleKind kind = kFlip) {
    RuleOrder order{};
    order.kind = kind;
    order.pick = kByIndex;
    order.bit = 31;
    order.elements = 1;
    order.index = 5;
    order.times = 1;
    order.deadline_boottime_ns = Now(CLOCK_BOOTTIME) + 60'000'000'000;
    std::strcpy(order.tensor, "gradients");
    std::strcpy(order.phase, "reduced");
    return order;
  }
  Rule& Arm(const RuleOrder& order, uint32_t slot = 0) {
    Rule& rule = page_->rules[slot];
    rule.owner = 0x1234 + slot;
    rule.order = order;
    page_->armed.fetch_or(1u << slot);
    return rule;
  }
  void ExpectUntouched() { EXPECT_EQ(values_, Clean()); }
  static std::vector<float> Clean() {
    std::vector<float> clean(64);
    std::iota(clean.begin(), clean.end(), 1.0F);
    return clean;
  }

  Page* page_ = nullptr;
  int reduced_ = 0;
  int other_ = 0;
  std::vector<float> values_ = Clean();
};

TEST_F(Workload, ShowsWhoItIsAndWhatItDoes) {
  EXPECT_EQ(page_->magic, kMagic);
  EXPECT_EQ(page_->layout, kLayout);
  EXPECT_EQ(page_->bytes, sizeof(Page));
  EXPECT_EQ(page_->pid, getpid());
  EXPECT_EQ(page_->rank, uint64_t{3} << 32 | 8);
  triodrill_set_rank(1, 4);
  EXPECT_EQ(page_->rank, uint64_t{1} << 32 | 4);
  triodrill_progress(77);
  EXPECT_EQ(page_->step, 77u);
  triodrill_phase(other_);
  EXPECT_EQ(page_->phase, static_cast<uint32_t>(other_));
  EXPECT_STREQ(page_->phase_names[other_], "applied");
  EXPECT_EQ(page_->phases, 1u);
  EXPECT_STREQ(page_->tensors[0].name, "gradients");
  EXPECT_EQ(page_->tensors[0].elements, 64u);
  EXPECT_EQ(page_->tensors[0].dtype, static_cast<uint32_t>(TRIODRILL_FLOAT32));
  EXPECT_EQ(page_->tensors[0].sequence % 2, 0u);
}

TEST_F(Workload, FlipsTheElementWhenThePhaseBeginsAndWritesDownWhen) {
  triodrill_progress(9);
  const Rule& rule = Arm(Order());
  triodrill_phase(other_);
  ExpectUntouched();
  const int64_t before = Now(CLOCK_MONOTONIC);
  triodrill_phase(reduced_);
  const int64_t after = Now(CLOCK_MONOTONIC);
  std::vector<float> expected = Clean();
  expected[5] = -6;
  EXPECT_EQ(values_, expected);
  EXPECT_EQ(rule.fired, 1u);
  EXPECT_EQ(rule.changed, 1u);
  EXPECT_EQ(rule.step, 9u);
  EXPECT_EQ(rule.index, 5u);
  EXPECT_EQ(rule.before ^ rule.after, 0x8000'0000u);
  EXPECT_LE(before, rule.begun_ns);
  EXPECT_LE(rule.begun_ns, rule.done_ns);
  EXPECT_LE(rule.done_ns, after);
  EXPECT_EQ(page_->armed, 0u) << "once was asked for";
  triodrill_phase(reduced_);
  EXPECT_EQ(values_, expected);
  ASSERT_EQ(page_->fired_count, 1u);
  const Fired& fired = page_->fired[0];
  EXPECT_EQ(fired.number, 1u);
  EXPECT_EQ(fired.token, 0x1234u);
  EXPECT_EQ(fired.before, rule.before);
  EXPECT_EQ(fired.after, rule.after);
  EXPECT_STREQ(fired.tensor, "gradients");
}

TEST_F(Workload, ActsInEveryPhaseUntilItIsDisarmed) {
  RuleOrder order = Order();
  order.times = 0;
  const Rule& rule = Arm(order);
  for (int i = 0; i < 3; ++i) triodrill_phase(reduced_);
  EXPECT_EQ(values_[5], -6);
  EXPECT_EQ(rule.fired, 3u);
  page_->armed.fetch_and(~1u);
  EXPECT_EQ(page_->acting, 0u);
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.fired, 3u);
}

TEST_F(Workload, DoesNothingAfterTheDeadlineAndWithoutOne) {
  RuleOrder order = Order();
  for (const int64_t deadline : {int64_t{0}, Now(CLOCK_BOOTTIME) - 1}) {
    order.deadline_boottime_ns = deadline;
    Rule& rule = Arm(order);
    triodrill_phase(reduced_);
    ExpectUntouched();
    EXPECT_EQ(rule.expired, 1u);
    EXPECT_EQ(page_->armed, 0u);
  }
}

TEST_F(Workload, WaitsForItsStepAndForATensor) {
  RuleOrder order = Order();
  order.from_step = 10;
  std::strcpy(order.tensor, "weights");
  const Rule& rule = Arm(order);
  triodrill_progress(9);
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.trouble, static_cast<uint32_t>(kNoTrouble)) << "it is not its turn yet";
  triodrill_progress(10);
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.trouble, static_cast<uint32_t>(kNoTensor));
  EXPECT_EQ(page_->armed, 1u);
  std::vector<double> weights(8, 2.0);
  ASSERT_EQ(triodrill_register_tensor("weights", weights.data(), 8, TRIODRILL_FLOAT64), 0);
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.changed, 1u);
  EXPECT_NE(weights[5], 2.0);
  ExpectUntouched();
}

TEST_F(Workload, CountsThePartsOfATensorAsOne) {
  ASSERT_EQ(triodrill_unregister_tensor("gradients"), 0);
  ASSERT_EQ(triodrill_register_tensor("gradients/a", values_.data(), 4, TRIODRILL_FLOAT32), 0);
  ASSERT_EQ(triodrill_register_tensor("gradients/b", values_.data() + 32, 4, TRIODRILL_FLOAT32), 0);
  const Rule& rule = Arm(Order());
  triodrill_phase(reduced_);
  EXPECT_EQ(values_[33], -34) << "the second part's second: the sixth of all";
  EXPECT_EQ(rule.index, 1u);
  EXPECT_STREQ(page_->fired[0].tensor, "gradients/b");
}

TEST_F(Workload, SaysThatABitOrAnIndexDoesNotFit) {
  RuleOrder order = Order();
  order.bit = 32;
  EXPECT_EQ((Arm(order), triodrill_phase(reduced_), page_->rules[0].trouble.load()), uint32_t{kDoesNotFit});
  order = Order();
  order.index = 64;
  EXPECT_EQ((Arm(order, 1), triodrill_phase(reduced_), page_->rules[1].trouble.load()), uint32_t{kDoesNotFit});
  ExpectUntouched();
}

TEST_F(Workload, SticksALane) {
  RuleOrder order = Order(kStuck);
  order.value = 1;
  order.lanes = 16;
  order.index = 3;
  const Rule& rule = Arm(order);
  triodrill_phase(reduced_);
  for (size_t i = 0; i < values_.size(); ++i) EXPECT_EQ(values_[i] < 0, i % 16 == 3) << i;
  EXPECT_EQ(rule.changed, 4u);
}

TEST_F(Workload, PutsAStaleBlockBack) {
  RuleOrder order = Order(kStale);
  order.index = 2;
  order.elements = 3;
  const Rule& rule = Arm(order);
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.changed, 0u) << "there is nothing older yet";
  EXPECT_EQ(rule.fired, 0u);
  for (float& value : values_) value += 100;
  triodrill_phase(reduced_);
  EXPECT_EQ(rule.changed, 3u);
  EXPECT_EQ(std::vector<float>(values_.begin() + 1, values_.begin() + 6), (std::vector<float>{102, 3, 4, 5, 106}));
}

TEST_F(Workload, KeepsOnlySomeRecordsOfAWideRule) {
  RuleOrder order = Order();
  order.pick = kBySeed;
  order.elements = 60;
  order.times = 0;
  const Rule& rule = Arm(order);
  for (int i = 0; i < 20; ++i) triodrill_phase(reduced_);
  EXPECT_EQ(rule.changed, 1200u);
  EXPECT_EQ(page_->fired_count, 320u) << "16 a phase, in a ring of 256";
  EXPECT_EQ(page_->fired[(320 - 1) % kMostFired].number, 320u);
  ExpectUntouched();  // flipped an even number of times
}

TEST_F(Workload, RunsSeveralRulesAndLeavesAFreePlaceAlone) {
  RuleOrder order = Order();
  Arm(order, 0);
  order.index = 6;
  Arm(order, 7);
  page_->armed.fetch_or(1u << 3);  // a bit without an owner
  triodrill_phase(reduced_);
  EXPECT_EQ(values_[5], -6);
  EXPECT_EQ(values_[6], -7);
  EXPECT_EQ(page_->fired_count, 2u);
}

TEST_F(Workload, ClosesItsNamesWithoutFailingTheJob) {
  EXPECT_EQ(triodrill_attach(0, 1), -EALREADY);
  EXPECT_EQ(triodrill_register_tensor("", values_.data(), 1, TRIODRILL_FLOAT32), -EINVAL);
  EXPECT_EQ(triodrill_register_tensor(std::string(48, 'n').c_str(), values_.data(), 1, TRIODRILL_FLOAT32), -EINVAL);
  EXPECT_EQ(triodrill_register_tensor("a", nullptr, 1, TRIODRILL_FLOAT32), -EINVAL);
  EXPECT_EQ(triodrill_register_tensor("a", values_.data(), 1, 99), -EINVAL);
  EXPECT_EQ(triodrill_unregister_tensor("a"), -ENOENT);
  EXPECT_EQ(triodrill_phase_id(std::string(32, 'p').c_str()), -EINVAL);
  triodrill_phase(-1);
  triodrill_phase(12345);
  for (int i = 1; i < 256; ++i) {
    ASSERT_EQ(triodrill_register_tensor(("t" + std::to_string(i)).c_str(), values_.data(), 1, TRIODRILL_INT8), 0);
  }
  EXPECT_EQ(triodrill_register_tensor("one too many", values_.data(), 1, TRIODRILL_INT8), -ENOSPC);
  EXPECT_EQ(triodrill_register_tensor("t7", values_.data(), 2, TRIODRILL_INT8), 0) << "known before";
  ASSERT_EQ(triodrill_unregister_tensor("t9"), 0);
  EXPECT_EQ(triodrill_register_tensor("in its place", values_.data(), 1, TRIODRILL_INT8), 0);
}

TEST_F(Workload, IsNotInheritedByAFork) {
  Arm(Order());
  const pid_t child = fork();
  if (child == 0) {
    triodrill_phase(reduced_);
    triodrill_progress(5);
    if (!PageDescriptors().empty() || values_ != Clean()) _exit(1);
    if (triodrill_attach(0, 1) != 0 || PageDescriptors().size() != 1) _exit(2);
    triodrill_progress(6);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(page_->step, 0u);
  EXPECT_EQ(page_->fired_count, 0u);
  triodrill_phase(reduced_);
  EXPECT_EQ(values_[5], -6);
}

TEST_F(Workload, CanBeAttachedAnewAfterADetach) {
  triodrill_progress(5);
  triodrill_detach();
  triodrill_progress(6);
  triodrill_phase(reduced_);
  EXPECT_TRUE(PageDescriptors().empty());
  EXPECT_EQ(triodrill_register_tensor("gradients", values_.data(), 1, TRIODRILL_FLOAT32), -ENOTCONN);
  EXPECT_EQ(page_->step, 5u);
  ASSERT_EQ(triodrill_attach(0, 2), 0);
  EXPECT_EQ(triodrill_phase_id("reduced"), reduced_) << "a phase keeps its number";
  triodrill_progress(7);
  EXPECT_EQ(page_->step, 5u) << "it is another page";
}

TEST_F(Workload, NeverWritesIntoATensorThatIsNoLongerRegistered) {
  RuleOrder order = Order();
  order.times = 0;
  order.index = 0;
  std::strcpy(order.tensor, "short-lived");
  const Rule& rule = Arm(order);
  std::atomic<bool> stop = false;
  std::thread training([&] {
    while (!stop) triodrill_phase(reduced_);
  });
  for (int i = 0; i < 2000 || rule.fired < 10; ++i) {
    auto tensor = std::make_unique<std::vector<float>>(16, 1.0F);
    ASSERT_EQ(triodrill_register_tensor("short-lived", tensor->data(), tensor->size(), TRIODRILL_FLOAT32), 0);
    ASSERT_EQ(triodrill_unregister_tensor("short-lived"), 0);
    const std::vector<float> now = *tensor;
    ASSERT_EQ(now, *tensor);
  }
  stop = true;
  training.join();
  ExpectUntouched();
}

}  // namespace
}  // namespace triodrill::workload
