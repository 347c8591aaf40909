#include "coordinator/watch/log_follower.h"

#include <gmock/gmock.h>

#include <condition_variable>

#include "tests/unit/watch/rig.h"

namespace triodrill::watch {
namespace {

// Moves on by one nanosecond at each look: every bound is a different one.
class TickingClock final : public Clock {
 public:
  TimePoint Now() override { return FromNanos(++ns_); }

 private:
  std::atomic<int64_t> ns_{1};
};

class Inbox {
 public:
  void Put(std::vector<Line> lines) {
    const std::lock_guard lock(mutex_);
    for (Line& line : lines) lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  // Everything there is once there are `count` lines; fewer if they do not come.
  std::vector<Line> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Line> lines_;
};

class Following : public testing::Test {
 protected:
  void Follow(std::vector<std::string> paths, LogFollower::Options options = {}) {
    auto follower = LogFollower::Start(std::move(paths), options, clock_,
                                       [this](std::vector<Line> lines) { inbox_.Put(std::move(lines)); });
    ASSERT_TRUE(follower.ok()) << follower.status();
    follower_ = *std::move(follower);
  }

  TemporaryDirectory directory_;
  const std::string log_ = directory_ / "n0.err";
  TickingClock clock_;
  Inbox inbox_;
  std::unique_ptr<LogFollower> follower_;
};

TEST_F(Following, HandsOnLinesAsTheyComeInOrder) {
  Follow({log_});
  follower_->SetFine(true);
  Writer writer(log_);
  for (int i = 0; i < 2000; ++i) writer.Write("step " + std::to_string(i) + "\n");
  const std::vector<Line> lines = inbox_.Await(2000);
  ASSERT_EQ(lines.size(), 2000u);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(lines[i].text, "step " + std::to_string(i));
    EXPECT_EQ(lines[i].number, i + 1);
  }
}

TEST_F(Following, HoldsTheMomentOfTheWriteBetweenItsBounds) {
  Append(log_, "");
  Follow({log_});
  follower_->SetFine(true);
  Writer writer(log_);
  for (size_t i = 1; i <= 200; ++i) {
    const TimePoint before = clock_.Now();
    writer.Write("x\n");
    const TimePoint after = clock_.Now();
    const std::vector<Line> lines = inbox_.Await(i);
    ASSERT_EQ(lines.size(), i);
    EXPECT_LE(lines.back().at.earliest, after);
    EXPECT_GE(lines.back().at.latest, before);
  }
}

TEST_F(Following, KeepsEveryLineOfAFileThatIsRotatedUnderItsWriters) {
  constexpr int kRotations = 20;
  constexpr int kLines = 50;
  Follow({log_});
  follower_->SetFine(true);
  for (int rotation = 0; rotation < kRotations; ++rotation) {
    Writer writer(log_);
    for (int i = 0; i < kLines; ++i) writer.Write(std::to_string(rotation * kLines + i) + "\n");
    // The next file may come only once this one is known: what bears no name any more cannot be found.
    inbox_.Await(static_cast<size_t>(rotation + 1) * kLines);
    std::filesystem::rename(log_, log_ + ".1");
  }
  const std::vector<Line> lines = inbox_.Await(kRotations * kLines);
  ASSERT_EQ(lines.size(), static_cast<size_t>(kRotations * kLines));
  for (int i = 0; i < kRotations * kLines; ++i) EXPECT_EQ(lines[i].text, std::to_string(i));
}

TEST_F(Following, LooksOnceMoreBeforeItEnds) {
  Follow({log_}, {.tail = {}, .fine_tick = std::chrono::hours(1), .coarse_tick = std::chrono::hours(1)});
  Append(log_, "just in time\n");
  follower_.reset();
  EXPECT_THAT(Texts(inbox_.Await(1)), testing::ElementsAre("just in time"));
}

TEST_F(Following, ATurnToFineTicksIsNotHeldUpByACoarseOne) {
  Follow({log_}, {.tail = {}, .fine_tick = std::chrono::milliseconds(2), .coarse_tick = std::chrono::hours(1)});
  Append(log_, "first\n");
  follower_->SetFine(true);
  EXPECT_THAT(Texts(inbox_.Await(1)), testing::ElementsAre("first"));
  Append(log_, "second\n");
  EXPECT_THAT(Texts(inbox_.Await(2)), testing::ElementsAre("first", "second"));
}

TEST_F(Following, SaysUpToWhenItKnows) {
  Follow({log_});
  follower_->SetFine(true);
  Append(log_, "marker\n");
  const TimePoint written = clock_.Now();
  while (follower_->CaughtUpTo() < written) std::this_thread::yield();
  EXPECT_EQ(inbox_.Await(1).size(), 1u) << "caught up, and yet the line was not handed on";
}

TEST_F(Following, RefusesARelativePath) {
  EXPECT_FALSE(LogFollower::Start({"n0.err"}, {}, clock_, [](const std::vector<Line>&) {}).ok());
}

}  // namespace
}  // namespace triodrill::watch
