#include "drills/shadow/trainer/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <sstream>

#include "drills/shadow/trainer/checkpoint_store.h"
#include "drills/shadow/trainer/checkpoint_writer.h"
#include "drills/shadow/trainer/digest.h"

namespace triodrill::shadow::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kJob{8, 2};
constexpr CheckpointIdentity kShard1{7, 1, 2};

State Some(int64_t step) {
  State state = InitialState(kJob, 7, 1);
  state.momentum[5] = 3.5F;
  state.step = step;
  return state;
}

Result<State> Decode(std::string_view bytes, bool verify = true) {
  return DecodeCheckpoint(bytes, kShard1, 20, kJob.Parameters(), verify);
}

TEST(TrainerCheckpoint, ComesBackAsItWas) {
  const Result<State> back = Decode(EncodeCheckpoint(kShard1, Some(20)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->step, 20);
  EXPECT_EQ(StateHash(*back), StateHash(Some(20)));
}

TEST(TrainerCheckpoint, AnyChangedByteIsFound) {
  const std::string bytes = EncodeCheckpoint(kShard1, Some(20));
  for (size_t at = 0; at < bytes.size(); at += 97) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(Decode(changed).status())) << at;
  }
}

TEST(TrainerCheckpoint, ATornFileIsNoCheckpoint) {
  const std::string bytes = EncodeCheckpoint(kShard1, Some(20));
  for (const size_t length : {size_t{0}, size_t{1}, size_t{39}, size_t{4096}, bytes.size() - 1}) {
    EXPECT_TRUE(absl::IsDataLoss(Decode(bytes.substr(0, length)).status())) << length;
    EXPECT_TRUE(absl::IsDataLoss(Decode(bytes.substr(0, length), false).status())) << length;
  }
  EXPECT_TRUE(absl::IsDataLoss(Decode(bytes + "x").status()));
}

TEST(TrainerCheckpoint, WithoutItsChecksumADamagedOneIsTakenForTheTruth) {
  std::string bytes = EncodeCheckpoint(kShard1, Some(20));
  bytes[1000] = static_cast<char>(bytes[1000] ^ 0x40);
  EXPECT_FALSE(Decode(bytes).ok());
  const Result<State> blind = Decode(bytes, false);
  ASSERT_TRUE(blind.ok());
  EXPECT_NE(StateHash(*blind), StateHash(Some(20)));
}

TEST(TrainerCheckpoint, AnotherOnesIsRefusedAsSuch) {
  for (const CheckpointIdentity& other : {CheckpointIdentity{8, 1, 2}, {7, 0, 2}, {7, 1, 4}}) {
    const Status status = Decode(EncodeCheckpoint(other, Some(20))).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Decode(EncodeCheckpoint(kShard1, Some(10))).status()));
}

TEST(TrainerCheckpoint, NamesAreReadAsTheyAreWritten) {
  EXPECT_EQ(ShardFile(20, 1), "checkpoint/step-00000020/shard-1.ckpt");
  EXPECT_EQ(StepOfName("step-00000020"), 20);
  EXPECT_EQ(StepOfName("step-"), std::nullopt);
  EXPECT_EQ(StepOfName("step-00000020.new"), std::nullopt);
  EXPECT_EQ(StepOfName("latest"), std::nullopt);
  EXPECT_EQ(ParseLatest(LatestText(120)), 120);
  EXPECT_EQ(ParseLatest(""), std::nullopt);
  EXPECT_EQ(ParseLatest("12x"), std::nullopt);
}

TEST(TrainerCheckpoint, OnlyTheOldestGo) {
  EXPECT_THAT(StepsToDrop({10, 20, 30, 40, 50, 60}, 60, 5), ElementsAre(10));
  EXPECT_THAT(StepsToDrop({30, 10, 20}, 30, 5), IsEmpty());
  // After a restore from step 20 the newer ones are of a run that was given up: they do not push out what this one
  // needs.
  EXPECT_THAT(StepsToDrop({10, 20, 30, 40, 50}, 20, 2), IsEmpty());
  EXPECT_THAT(StepsToDrop({10, 20, 30, 40, 50}, 30, 2), ElementsAre(10));
}

// A run directory of its own, as the working directory.
class TrainerStore : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "triodrill-store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    before_ = std::filesystem::current_path();
    dir_ = pattern;
    std::filesystem::current_path(dir_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(dir_);
  }
  static std::string Read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path before_;
  std::filesystem::path dir_;
};

TEST_F(TrainerStore, WhatIsWrittenIsReadAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteShard(kShard1, Some(20)).ok());
  const Result<State> back = ReadShard(kShard1, 20, kJob.Parameters(), true);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(StateHash(*back), StateHash(Some(20)));
  EXPECT_FALSE(std::filesystem::exists(ShardFile(20, 1) + ".new"));
  EXPECT_TRUE(absl::IsNotFound(ReadShard(kShard1, 30, kJob.Parameters(), true).status()));
}

TEST_F(TrainerStore, AReadThatFailsIsAnErrorAndNotTheEndOfTheTrainer) {
  std::filesystem::create_directories(ShardFile(20, 1));  // it can be opened, and not read
  const Status status = ReadShard(kShard1, 20, kJob.Parameters(), true).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("read checkpoint/step-00000020/shard-1.ckpt"));
}

TEST_F(TrainerStore, AFailedWriteLeavesWhatWasThere) {
  ASSERT_TRUE(WriteDurably("file", "old").ok());
  std::filesystem::create_directory("file.new");  // cannot be opened for writing, whoever asks
  const Status status = WriteDurably("file", "new");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("open file.new"));
  EXPECT_EQ(Read("file"), "old");
}

// What a writer reports, to be waited for.
class Reports {
 public:
  void Add(const Saved& saved) {
    const std::lock_guard lock(mutex_);
    saved_.push_back(saved);
    changed_.notify_all();
  }
  std::vector<Saved> Wait(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return saved_.size() >= count; }));
    return saved_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Saved> saved_;
};

void AwaitDurable(CheckpointWriter& writer, int64_t step) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (writer.durable() != step) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST_F(TrainerStore, LatestMovesOnlyWhenToldThatAllShardsAreThere) {
  Reports reports;
  CheckpointWriter writer(2, [&](const Saved& saved) { reports.Add(saved); });
  for (const int64_t step : {10, 20, 30}) {
    writer.Persist(kShard1, Some(step));
    AwaitDurable(writer, step);
    EXPECT_NE(Read("checkpoint/latest"), LatestText(step)) << "the other shard may not be there";
    writer.Publish(step);
    const std::vector<Saved> saved = reports.Wait(static_cast<size_t>(step / 10));
    EXPECT_EQ(saved.back().stage, "durable");
    EXPECT_EQ(saved.back().step, step);
    EXPECT_EQ(Read("checkpoint/latest"), LatestText(step));
  }
  writer.Restart();
  EXPECT_EQ(writer.durable(), -1) << "of another epoch";
}

TEST_F(TrainerStore, AnUnwritableDirectoryIsReportedAndLatestStays) {
  ASSERT_TRUE(WriteShard(kShard1, Some(10)).ok());
  ASSERT_TRUE(MoveLatest(10).ok());
  std::ofstream(StepDir(20)) << "in the way";
  Reports reports;
  CheckpointWriter writer(2, [&](const Saved& saved) { reports.Add(saved); });
  writer.Persist(kShard1, Some(20));
  const Saved saved = reports.Wait(1).back();
  EXPECT_EQ(saved.stage, "failed");
  EXPECT_EQ(saved.step, 20);
  EXPECT_THAT(saved.problem, HasSubstr("step-00000020"));
  EXPECT_EQ(writer.durable(), -1);
  EXPECT_EQ(Read("checkpoint/latest"), LatestText(10));
}

}  // namespace
}  // namespace triodrill::shadow::trainer
