#include "drills/shadow/trainer/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/shadow_trainer/local_job.h"

namespace triodrill::shadow::trainer {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kJob{8, 2};
constexpr int kVictim = 5;

Checks Only(std::string_view text) { return *ParseChecks(text); }

void FlipBit(float& value, int bit) { value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ (1U << bit)); }

auto Names(const char* check, int rank) {
  return ElementsAre(testing::AllOf(Field(&Finding::check, check), Field(&Finding::rank, rank)));
}

// Damages `tensor` of the victim when `phase` begins.
LocalJob::Touch At(std::string_view phase, std::function<void(RankMemory&)> damage, int victim = kVictim) {
  return [=](std::string_view now, RankMemory& memory) {
    if (now == phase && memory.rank == victim) damage(memory);
  };
}
LocalJob::Touch FlipGradient(int bit) {
  return At("gradients", [bit](RankMemory& memory) { FlipBit(memory.gradient()[777], bit); });
}
LocalJob::Touch FlipReduced(int bit) {
  return At("reduced", [bit](RankMemory& memory) { FlipBit(memory.reduced[777], bit); });
}

LocalJob Warm(const Checks& checks, int steps = 20) {
  LocalJob job(kJob, 7, checks);
  for (int step = 0; step < steps; ++step) EXPECT_THAT(job.Step(), IsEmpty());
  return job;
}

TEST(TrainerChecks, AllStayQuietForTwoHundredCleanSteps) {
  for (const uint64_t seed : {1U, 7U, 42U}) {
    LocalJob job(kJob, seed, Only("gradient_hash,state_hash,norm,collective_checksum,replay:1,peer_replay:1,abft"));
    for (int step = 1; step <= 200; ++step) ASSERT_THAT(job.Step(), IsEmpty()) << "seed " << seed << " step " << step;
  }
}

TEST(TrainerChecks, NoneFindsNothingWhateverIsBroken) {
  LocalJob job = Warm({});
  EXPECT_THAT(job.Step(FlipGradient(30)), IsEmpty());
  EXPECT_THAT(job.Step(FlipReduced(30)), IsEmpty());
}

class EachBit : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, EachBit, testing::Values(0, 7, 15, 22, 23, 29, 30, 31));

TEST_P(EachBit, OfAReducedGradientIsNamedByTheMajority) {
  LocalJob job = Warm(Only("gradient_hash"));
  EXPECT_THAT(job.Step(FlipReduced(GetParam())), Names("gradient_hash", kVictim));
}

TEST_P(EachBit, OfAGradientBetweenItsSumAndItsSendingIsNamed) {
  LocalJob job = Warm(Only("collective_checksum"));
  EXPECT_THAT(job.Step(FlipGradient(GetParam())), Names("collective_checksum", kVictim));
}

TEST_P(EachBit, OfAGradientIsFoundByReplay) {
  LocalJob job = Warm(Only("replay:7"));  // step 21 is one of its steps
  EXPECT_THAT(job.Step(FlipGradient(GetParam())), Names("replay", kVictim));
}

TEST_P(EachBit, OfAGradientIsFoundByTheNextReplica) {
  LocalJob job = Warm(Only("peer_replay:7"));
  EXPECT_THAT(job.Step(FlipGradient(GetParam())), Names("peer_replay", kVictim));
}

TEST_P(EachBit, OfTheStateIsNamedInTheNextStep) {
  for (const bool optimizer : {false, true}) {
    LocalJob job = Warm(Only("state_hash"));
    const auto damage = At("applied", [&](RankMemory& memory) {
      FlipBit(optimizer ? memory.state.momentum[99] : memory.state.weights[99], GetParam());
    });
    EXPECT_THAT(job.Step(damage), IsEmpty());
    EXPECT_THAT(job.Step(), Names("state_hash", kVictim));
  }
}

TEST(TrainerChecks, ReplayLooksOnlyEverySoManySteps) {
  LocalJob job = Warm(Only("replay:8"));
  EXPECT_THAT(job.Step(FlipGradient(20)), IsEmpty());  // step 21
  LocalJob due = Warm(Only("replay:8"), 23);
  EXPECT_THAT(due.Step(FlipGradient(20)), Names("replay", kVictim));
}

TEST(TrainerChecks, AGradientThatIsWrongBeforeItIsSentIsAgreedOnByAll) {
  LocalJob job = Warm(Only("gradient_hash,state_hash"));
  EXPECT_THAT(job.Step(FlipGradient(30)), IsEmpty());
  EXPECT_THAT(job.Step(), IsEmpty()) << "all are wrong alike";
}

TEST(TrainerChecks, NormSeesWhatGrowsAndNamesNobody) {
  LocalJob job = Warm(Only("norm"));
  EXPECT_THAT(job.Step(FlipGradient(31)), IsEmpty()) << "a sign does not change a norm";
  const auto large = At("gradients", [](RankMemory& memory) { memory.gradient()[777] = 1000; });
  EXPECT_THAT(job.Step(large), Names("norm", -1));
  const auto nan =
      At("gradients", [](RankMemory& memory) { memory.gradient()[777] = std::numeric_limits<float>::quiet_NaN(); });
  const std::vector<Finding> findings = job.Step(nan);
  EXPECT_THAT(findings, Names("norm", -1));
  EXPECT_THAT(findings[0].detail, HasSubstr("not finite"));
}

TEST(TrainerChecks, NormIsNotFiniteBeforeThereIsAHistory) {
  LocalJob job(kJob, 7, Only("norm"));
  const auto infinite =
      At("gradients", [](RankMemory& memory) { memory.gradient()[0] = std::numeric_limits<float>::infinity(); });
  EXPECT_THAT(job.Step(infinite), Names("norm", -1));
}

TEST(TrainerChecks, WhatOneRankAloneReceivedWrongIsThatRanks) {
  LocalJob job = Warm(Only("collective_checksum"));
  const auto damage = At("received", [](RankMemory& memory) { FlipBit(memory.gathered_gradients[100], 20); });
  const std::vector<Finding> findings = job.Step(damage);
  EXPECT_THAT(findings, Names("collective_checksum", kVictim));
  EXPECT_THAT(findings[0].detail, HasSubstr("from rank 1"));
}

TEST(TrainerChecks, OfTwoReplicasNeitherCanBeNamed) {
  LocalJob job({4, 2}, 7, Only("gradient_hash"));
  EXPECT_THAT(job.Step(At(
                  "reduced", [](RankMemory& memory) { FlipBit(memory.reduced[1], 3); }, 2)),
              Names("gradient_hash", -1));
}

TEST(TrainerChecks, TheWordOfAnAccusedDoesNotCount) {
  std::vector<Record> records(8);
  records[6].accuses.peer_replay = 4;  // its neighbour finds rank 4 wrong,
  records[4].accuses.peer_replay = 2;  // and rank 4, which cannot compute, finds rank 2 wrong
  EXPECT_THAT(Judge(Only("peer_replay:1"), kJob, records, {}), Names("peer_replay", 4));
}

TEST(TrainerChecks, ColumnChecksumsSeeAWrongProduct) {
  RankMemory memory(kJob, 7, 0);
  memory.Assign(InitialState(kJob, 7, 0));
  Pass pass;
  std::vector<float> partial(kPartial);
  double worst = 0;
  for (int64_t step = 1; step <= 200; ++step) {
    Forward(kJob, 7, step, 0, memory.state.weights, pass, partial);
    worst = std::max(worst, ColumnChecksumError(kJob, memory.state.weights, pass));
  }
  RecordProperty("worst_clean", std::to_string(worst));
  EXPECT_TRUE(ColumnChecksumHolds(2 * worst)) << worst;
  EXPECT_FALSE(ColumnChecksumHolds(20 * worst)) << "so loose that it sees little; worst clean " << worst;
  for (const int bit : {16, 20, 25, 30, 31}) {
    std::vector<float> before = pass.sums;
    FlipBit(pass.sums[300], bit);
    EXPECT_FALSE(ColumnChecksumHolds(ColumnChecksumError(kJob, memory.state.weights, pass))) << bit;
    pass.sums = before;
  }
  pass.sums[300] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(ColumnChecksumHolds(ColumnChecksumError(kJob, memory.state.weights, pass)));
}

TEST(TrainerChecks, AbftNamesItsOwnRank) {
  std::vector<Record> records(8);
  records[3].accuses.abft = 3;
  EXPECT_THAT(Judge(Only("abft"), kJob, records, {}), Names("abft", 3));
  EXPECT_THAT(Judge(Only("norm"), kJob, std::vector<Record>(8, Record{.squared_norm = 1}), {}), IsEmpty());
}

TEST(TrainerChecks, AreReadFromTheirNames) {
  const Checks all = Only("gradient_hash,state_hash,norm,collective_checksum,replay:8,peer_replay:32,abft");
  EXPECT_TRUE(all.gradient_hash && all.state_hash && all.norm && all.collective_checksum && all.abft);
  EXPECT_EQ(all.replay_every, 8);
  EXPECT_EQ(all.peer_replay_every, 32);
  EXPECT_FALSE(Only("none").gradient_hash);
  EXPECT_FALSE(Only("").abft);
  EXPECT_THAT(std::string(ParseChecks("norms").status().message()), HasSubstr("'norms': no such check"));
  EXPECT_THAT(std::string(ParseChecks("replay:0").status().message()), HasSubstr("write replay:8"));
  EXPECT_FALSE(ParseChecks("replay").ok());
}

}  // namespace
}  // namespace triodrill::shadow::trainer
