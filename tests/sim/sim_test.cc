#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/sim/world.h"
#include "triodrill/text.h"

namespace triodrill::sim {
namespace {

std::string Scratch() { return Cat("/dev/shm/triodrill-sim-test-", ::getpid()); }

std::string Said(const Found& found) {
  std::string text;
  for (const std::string& trouble : found.troubles) Append(text, "\n  trouble: ", trouble);
  for (const std::string& violation : found.violations) Append(text, "\n  violation: ", violation);
  return text;
}

TEST(Simulation, HoldsEveryInvariantWhateverGoesWrong) {
  int landed = 0;
  int finished = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Found found = Simulate({.seed = seed}, Scratch());
    ASSERT_TRUE(found.violations.empty()) << "seed " << seed << Said(found);
    landed += found.landed;
    finished += found.outcome == "finished" ? 1 : 0;
  }
  EXPECT_GT(landed, 200) << "a world in which hardly anything lands shows nothing";
  EXPECT_GT(finished, 150);
}

TEST(Simulation, IsTheSameTwice) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(Simulate({.seed = seed}, Scratch()).digest, Simulate({.seed = seed}, Scratch()).digest) << seed;
  }
  EXPECT_NE(Simulate({.seed = 1}, Scratch()).digest, Simulate({.seed = 2}, Scratch()).digest);
}

// Troubles under which the mistake matters, so that it is met sooner than by chance alone.
std::vector<Trouble> Favoured(Mutant mutant) {
  switch (mutant) {
    case Mutant::kNoLease:
    case Mutant::kLeaseOfOwnVoice:
      return {Trouble::kCoordinatorDies, Trouble::kCutOff, Trouble::kPipelineBlind};
    case Mutant::kWallClockLease:
      return {Trouble::kWallClockSteps, Trouble::kCoordinatorDies, Trouble::kCutOff, Trouble::kPipelineBlind};
    case Mutant::kNoReplay:
      return {Trouble::kPowerLoss, Trouble::kNoGuardian, Trouble::kAgentDies};
    case Mutant::kUnreadableIsDropped:
      return {Trouble::kRecordRots, Trouble::kAgentDies, Trouble::kPipelineBlind};
    case Mutant::kRevertClobbers:
    case Mutant::kRevertToggles:
      return {Trouble::kOthersChange, Trouble::kRankRestarts, Trouble::kAgentDies};
    case Mutant::kGateFailsOpen:
      return {Trouble::kAgentDies, Trouble::kPowerLoss};
    case Mutant::kUndoUnseen:
    case Mutant::kConfirmUnseen:
      return {Trouble::kRevertFails};
    case Mutant::kStaleTarget:
      return {Trouble::kRankRestarts};
    case Mutant::kPassWithoutLanding:
      return {Trouble::kNeverLands};
    default:
      return {};
  }
}

class EachMutant : public testing::TestWithParam<NamedMutant> {};

TEST_P(EachMutant, IsNoticed) {
  const Mutant mutant = GetParam().mutant;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Wish wish{.seed = seed, .mutant = mutant, .favoured = Favoured(mutant)};
    const Found found = Simulate(wish, Scratch());
    if (found.violations.empty()) continue;
    Wish healthy = wish;
    healthy.mutant = Mutant::kNone;
    const Found without = Simulate(healthy, Scratch());
    EXPECT_TRUE(without.violations.empty()) << "the same troubles without the mistake" << Said(without);
    std::printf("%s: seed %d: %s\n", std::string(GetParam().name).c_str(), static_cast<int>(seed),
                found.violations.front().c_str());
    return;
  }
  FAIL() << GetParam().name << " went unnoticed in 2,000 seeds";
}

INSTANTIATE_TEST_SUITE_P(Mutants, EachMutant, testing::ValuesIn(kMutants),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace triodrill::sim
