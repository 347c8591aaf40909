// The stand-in NCCL itself, without the shim: else a drill under it would prove nothing.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "injectors/collective/apply.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/unit/collective/ranks.h"

namespace triodrill::testing {
namespace {

JobShape Bare() {
  JobShape shape;
  shape.preload = false;
  return shape;
}

// By whole numbers, which every type can hold.
TEST(FakeNccl, SumsEveryType) {
  Ranks job(Bare());
  ASSERT_EQ(job.trouble(), "");
  for (nccl::DataType type = 0; type < 12; ++type) {
    const uint32_t kind = nccl::TypeOf(type);
    const size_t width = corruption::BytesOf(kind);
    job.TellAll(CallLine(collective::kAllReduce, type, 100'000 / width, 3));
    ASSERT_EQ(job.AnswerAll(), 0);
    const Sizes sizes = SizesOf(collective::kAllReduce, 100'000 / width, 4);
    for (uint64_t i = 0; i < sizes.recv; i += 97) {
      double sum = 0;
      for (int rank = 0; rank < 4; ++rank) {
        const corruption::Format format = corruption::FormatOf(kind);
        const corruption::Number number = corruption::Decode(format, ValueOf(kind, 3, 0, rank, i));
        double value = static_cast<double>(number.mantissa) * (number.negative ? -1 : 1);
        for (int32_t e = number.exponent; e < 0; ++e) value /= 2;
        for (int32_t e = number.exponent; e > 0; --e) value *= 2;
        sum += value;
      }
      for (int rank = 0; rank < 4; ++rank) {
        // E5M2 has two bits of mantissa: above 16 a whole number may lie between two of its values.
        if (kind == corruption::kFloat8E5M2 || kind == corruption::kFloat8E4M3) continue;
        ASSERT_EQ(collective::LoadRaw(kind, job.Received(rank, 0, sizes, width), i), corruption::RawOf(kind, sum))
            << "type " << type << " element " << i;
      }
    }
  }
}

TEST(FakeNccl, RoundsNarrowTypesAfterEachStep) {
  uint8_t into = static_cast<uint8_t>(corruption::RawOf(corruption::kFloat8E4M3, 16));
  const auto one = static_cast<uint8_t>(corruption::RawOf(corruption::kFloat8E4M3, 1));
  fake_nccl::Combine(nccl::kFloat8E4M3, nccl::kSum, &into, &one, 1);
  EXPECT_EQ(into, corruption::RawOf(corruption::kFloat8E4M3, 16)) << "17 lies between 16 and 18: halves to even";
  float left[] = {1, 5};
  const float right[] = {4, 2};
  fake_nccl::Combine(nccl::kFloat32, nccl::kMax, left, right, 2);
  EXPECT_EQ(left[0], 4);
  EXPECT_EQ(left[1], 5);
  fake_nccl::Divide(nccl::kFloat32, left, 2, 2);
  EXPECT_EQ(left[1], 2.5F);
}

TEST(FakeNccl, TellsTheOthersOfARankThatDied) {
  Ranks job(Bare());
  ASSERT_EQ(job.trouble(), "");
  ASSERT_EQ(::kill(job.pid(3), SIGKILL), 0);
  const std::string line = CallLine(collective::kAllReduce, nccl::kFloat32, 10, 1);
  for (int rank = 0; rank < 3; ++rank) job.Tell(rank, line);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.Answer(rank), nccl::kRemoteError);
  job.Tell(0, line);
  EXPECT_EQ(job.Answer(0), nccl::kRemoteError) << "an error sticks";
}

TEST(FakeNccl, TellsRanksThatAreInDifferentCollectives) {
  Ranks job(Bare());
  ASSERT_EQ(job.trouble(), "");
  for (int rank = 0; rank < 4; ++rank) {
    job.Tell(rank, CallLine(rank == 2 ? collective::kBroadcast : collective::kAllReduce, nccl::kFloat32, 10, 1));
  }
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(job.Answer(rank), nccl::kInvalidUsage);
}

TEST(FakeNccl, DoesTheWorkOfACommunicatorThatDoesNotBlockLater) {
  JobShape shape = Bare();
  shape.blocking = false;
  shape.environment = {"TRIODRILL_FAKE_NCCL_LAG_MS=20"};
  Ranks job(shape);
  ASSERT_EQ(job.trouble(), "");
  job.TellAll(CallLine(collective::kSend, nccl::kFloat64, 20'000, 4, 2));
  ASSERT_EQ(job.AnswerAll(), 0);
  const Sizes sizes = SizesOf(collective::kSend, 20'000, 4);
  EXPECT_EQ(std::memcmp(job.Received(1, 1, sizes, 8), job.Sent(0, 1, sizes, 8), 160'000), 0);
}

}  // namespace
}  // namespace triodrill::testing
