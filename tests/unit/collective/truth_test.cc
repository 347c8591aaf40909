// The shim under a job of four processes: what it changed is what the seed and the call's number say, on the rank, in
// the call, in the element and the bit that were meant, and nothing else anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "injectors/collective/apply.h"
#include "injectors/collective/when.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/unit/collective/ranks.h"
#include "triodrill/picking.h"

namespace triodrill::testing {
namespace {

using collective::Operation;
using collective::RuleOrder;

constexpr int kRanks = 4;
constexpr uint64_t kToken = 77;
constexpr int kTypes = 12;  // of NCCL

struct Case {
  Operation operation;  // that is called; kSend stands for an exchange
  nccl::DataType type;
  uint64_t count;
  uint64_t seed;
  uint64_t calls;
  bool group;
  int victim;
  RuleOrder rule;
};

using Bytes = std::vector<char>;
struct Call {
  std::vector<Bytes> sent;  // by rank
  std::vector<Bytes> received;
};

// call, index, before, after
using Hit = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

corruption::Order FullOrder(const Case& what) {
  corruption::Order order = what.rule.corruption;
  order.type = nccl::TypeOf(what.type);
  if (order.ranged != 0 && what.rule.corruption.type == corruption::kNoType) {
    order.low = corruption::RawOf(order.type, what.rule.low_value);
    order.high = corruption::RawOf(order.type, what.rule.high_value);
  }
  return order;
}

// By the definition, element by element.
void Damage(const Case& what, uint64_t call, Bytes& buffer, std::vector<Hit>& hits) {
  const corruption::Order order = FullOrder(what);
  const uint64_t total = buffer.size() / corruption::BytesOf(order.type);
  const corruption::Shuffle shuffle(order.seed, call, total);
  const uint64_t count = corruption::CountOf(order, total, call);
  for (uint64_t i = 0; i < total; ++i) {
    const uint64_t before = collective::LoadRaw(order.type, buffer.data(), i);
    if (!corruption::IsPicked(order, shuffle, count, i) || !corruption::InRange(order, before)) continue;
    const uint64_t after = corruption::Changed(order, i, before, before, call);
    if (before == after) continue;
    collective::StoreRaw(order.type, buffer.data(), i, after);
    hits.emplace_back(call, i, before, after);
  }
}

// What NCCL makes of what was sent.
void Communicate(const Case& what, Call& call) {
  const size_t width = corruption::BytesOf(nccl::TypeOf(what.type));
  const int root = RootOf(what.seed, kRanks);
  Bytes sum = call.sent[0];
  const auto add = [&](const Bytes& more) {
    fake_nccl::Combine(what.type, nccl::kSum, sum.data(), more.data(), sum.size() / width);
  };
  for (int rank = 1; rank < kRanks; ++rank) add(call.sent[static_cast<size_t>(rank)]);
  const size_t part = what.count * width;
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto at = static_cast<size_t>(rank);
    Bytes& received = call.received[at];
    switch (what.operation) {
      case collective::kAllReduce:
        received = sum;
        break;
      case collective::kReduceScatter:
        std::memcpy(received.data(), sum.data() + at * part, part);
        break;
      case collective::kAllGather:
        for (size_t i = 0; i < kRanks; ++i) std::memcpy(received.data() + i * part, call.sent[i].data(), part);
        break;
      case collective::kBroadcast:
        received = call.sent[static_cast<size_t>(root)];
        break;
      case collective::kReduce:
        if (rank == root) received = sum;
        break;
      default:
        received = call.sent[static_cast<size_t>((rank + kRanks - 1) % kRanks)];
    }
  }
}

bool HasBuffer(const Case& what) {
  const bool root = what.victim == RootOf(what.seed, kRanks);
  if (what.operation == collective::kBroadcast && what.rule.moment == collective::kBefore) return root;
  if (what.operation == collective::kReduce && what.rule.moment == collective::kAfter) return root;
  return true;
}

std::vector<Call> Expected(const Case& what, std::vector<Hit>& hits) {
  const size_t width = corruption::BytesOf(nccl::TypeOf(what.type));
  const Sizes sizes = SizesOf(what.operation, what.count, kRanks);
  std::vector<Call> calls(what.calls);
  for (uint64_t number = 0; number < what.calls; ++number) {
    Call& call = calls[number];
    for (int rank = 0; rank < kRanks; ++rank) {
      call.sent.emplace_back(sizes.send * width);
      call.received.emplace_back(sizes.recv * width, static_cast<char>(kUntouched));
      Fill(what.type, what.seed, number, rank, call.sent.back().data(), sizes.send);
    }
    const bool acts = HasBuffer(what) && collective::Acts(what.rule, number);
    const auto victim = static_cast<size_t>(what.victim);
    if (acts && what.rule.moment == collective::kBefore) Damage(what, number, call.sent[victim], hits);
    Communicate(what, call);
    if (acts && what.rule.moment == collective::kAfter) Damage(what, number, call.received[victim], hits);
  }
  return calls;
}

// One bit of one element, or one of the other models; before a sum no exponent is touched: what a sum of two that are
// not numbers is, is the processor's affair.
void DrawDamage(std::mt19937_64& random, Case& what) {
  const corruption::Format format = corruption::FormatOf(nccl::TypeOf(what.type));
  corruption::Order& order = what.rule.corruption;
  order.seed = random();
  order.field = what.rule.moment == collective::kBefore ? corruption::kMantissa : corruption::kWhole;
  order.bit = static_cast<uint32_t>(random() % corruption::BitsOf(format, order.field).count);
  order.index = random() % what.count;
  if (random() % 3 != 0) return;
  order.change = static_cast<uint32_t>(1 + random() % 5);
  order.pick = static_cast<uint32_t>(1 + random() % 6);
  order.bit = corruption::kDrawnBit;
  order.factor = 0.5F;
  order.lanes = 8;
  order.index %= order.lanes;
  order.count = 1 + random() % 5;
  order.rows = 2;
  order.columns = 3;
  order.pitch = 16;
  order.chance = 0.05;
  order.ranged = random() % 2;
  what.rule.low_value = 2;
  what.rule.high_value = 9;
  if (format.bits == 64) order.change = corruption::kFlip;
}

Case DrawCase(std::mt19937_64& random) {
  constexpr Operation kCalled[] = {collective::kAllReduce, collective::kReduceScatter, collective::kAllGather,
                                   collective::kBroadcast, collective::kReduce,        collective::kSend};
  Case what{};
  what.operation = kCalled[random() % std::size(kCalled)];
  what.type = static_cast<nccl::DataType>(random() % kTypes);
  what.count = 1 + random() % 150;
  what.seed = random() % 1'000'000;
  what.calls = 1 + random() % 3;
  what.group = random() % 3 == 0;
  what.victim = static_cast<int>(random() % kRanks);
  const auto moment = random() % 2 == 0 ? collective::kBefore : collective::kAfter;
  // An exchange sends before and receives after.
  const Operation meant =
      what.operation == collective::kSend && moment == collective::kAfter ? collective::kRecv : what.operation;
  what.rule = RuleFor(meant, collective::kCorrupt, moment);
  what.rule.first = random() % 2;
  what.rule.burst = 1 + random() % 2;
  what.rule.every = random() % 3 == 0 ? 2 : 0;
  what.rule.comm_ranks = random() % 2 == 0 ? kRanks : 0;
  what.rule.comm_rank = random() % 2 == 0 ? what.victim : -1;
  what.rule.communicator = random() % 2 == 0 ? 1 : 0;
  DrawDamage(random, what);
  return what;
}

class Truth : public ::testing::TestWithParam<int> {};

TEST_P(Truth, IsWhatTheSeedSaysOnTheRankTheCallTheElementAndTheBitThatWereMeant) {
  constexpr int kCases = 250;
  Ranks job;
  ASSERT_EQ(job.trouble(), "");
  std::vector<ShimPage> pages;
  for (int rank = 0; rank < kRanks; ++rank) {
    Result<ShimPage> page = job.Page(rank);
    ASSERT_TRUE(page.ok()) << page.status();
    pages.push_back(std::move(*page));
  }
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  uint64_t all_hits = 0;
  for (int number = 0; number < kCases; ++number) {
    const Case what = DrawCase(random);
    SCOPED_TRACE(Cat("case ", number, ", operation ", static_cast<int>(what.operation), ", type ", what.type,
                     ", moment ", what.rule.moment, ", pick ", what.rule.corruption.pick, ", change ",
                     what.rule.corruption.change));
    ASSERT_EQ(pages[static_cast<size_t>(what.victim)].Arm(kToken, what.rule), Ok());
    job.TellAll(CallLine(what.operation, what.type, what.count, what.seed, what.calls, what.group ? "group" : "plain"));
    ASSERT_EQ(job.AnswerAll(), 0);

    std::vector<Hit> hits;
    const std::vector<Call> expected = Expected(what, hits);
    const size_t width = corruption::BytesOf(nccl::TypeOf(what.type));
    const Sizes sizes = SizesOf(what.operation, what.count, kRanks);
    for (uint64_t call = 0; call < what.calls; ++call) {
      for (int rank = 0; rank < kRanks; ++rank) {
        SCOPED_TRACE(Cat("call ", call, ", rank ", rank));
        const Bytes& sent = expected[call].sent[static_cast<size_t>(rank)];
        const Bytes& received = expected[call].received[static_cast<size_t>(rank)];
        ASSERT_EQ(std::memcmp(job.Sent(rank, call, sizes, width), sent.data(), sent.size()), 0);
        ASSERT_EQ(std::memcmp(job.Received(rank, call, sizes, width), received.data(), received.size()), 0);
      }
    }
    std::vector<Hit> recorded;
    for (const ShimPage::Change& change : pages[static_cast<size_t>(what.victim)].Changes(kToken)) {
      recorded.emplace_back(change.call, change.index, change.before, change.after);
      ASSERT_EQ(change.comm_rank, what.victim);
      ASSERT_EQ(change.comm_ranks, kRanks);
    }
    // Those of the cases before are still in the page.
    ASSERT_GE(recorded.size(), hits.size());
    recorded.erase(recorded.begin(), recorded.end() - static_cast<std::ptrdiff_t>(hits.size()));
    ASSERT_THAT(recorded, ::testing::UnorderedElementsAreArray(hits));
    ASSERT_EQ(pages[static_cast<size_t>(what.victim)].Look(kToken).changed, hits.size());
    ASSERT_EQ(pages[static_cast<size_t>(what.victim)].Withdraw(kToken), Ok());
    all_hits += hits.size();
  }
  EXPECT_GT(all_hits, static_cast<uint64_t>(kCases) / 4);
}

INSTANTIATE_TEST_SUITE_P(OfAThousandCases, Truth, ::testing::Range(1, 5));

}  // namespace
}  // namespace triodrill::testing
