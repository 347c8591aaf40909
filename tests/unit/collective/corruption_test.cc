#include "triodrill/corruption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "injectors/collective/apply.h"
#include "triodrill/picking.h"

namespace triodrill::corruption {
namespace {

constexpr uint32_t kTypes[] = {kInt8,       kUint8,      kInt32,   kUint32,   kInt64,   kUint64,
                               kFloat8E4M3, kFloat8E5M2, kFloat16, kBfloat16, kFloat32, kFloat64};

uint32_t BitsOfFloat(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float FloatOf(uint64_t bits) {
  const auto narrow = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &narrow, sizeof(value));
  return value;
}

// The value of a raw element by the definition of its format, in double.
double ValueOf(uint32_t type, uint64_t raw) {
  const Format format = FormatOf(type);
  if (MagnitudeOf(format, raw) > format.largest && format.exponent_bits != 0) return std::nan("");
  const Number number = Decode(format, raw);
  return std::ldexp(static_cast<double>(number.mantissa), number.exponent) * (number.negative ? -1 : 1);
}

Order OrderOf(uint32_t type, Change change) {
  Order order{};
  order.type = type;
  order.change = change;
  order.pick = kRun;
  order.count = 1;
  order.adjacent = 1;
  order.factor = 1;
  return order;
}

struct Kept {
  std::vector<collective::Hit> hits;
  collective::HitSink Sink() {
    return {[](void* kept, const collective::Hit& hit) { static_cast<Kept*>(kept)->hits.push_back(hit); }, this};
  }
};

TEST(Philox, GivesTheKnownAnswersOfItsAuthors) {
  const auto words = [](const philox::Block& block) { return std::vector<uint32_t>(block.word, block.word + 4); };
  EXPECT_EQ(words(philox::Draw(philox::Block{{0, 0, 0, 0}}, 0)),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox::Draw(philox::Block{{~0u, ~0u, ~0u, ~0u}}, ~uint64_t{0})),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox::Draw(philox::Block{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822)),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Change, FlipsByFieldAndPosition) {
  Order order = OrderOf(kFloat32, kFlip);
  order.field = kSign;
  EXPECT_EQ(Changed(order, 0, BitsOfFloat(1.5F), 0, 0), BitsOfFloat(-1.5F));
  order.field = kExponent;
  order.bit = 7;
  EXPECT_EQ(Changed(order, 0, 0, 0, 0), 0x40000000u);
  order.field = kMantissa;
  order.bit = 22;
  EXPECT_EQ(Changed(order, 0, BitsOfFloat(1.0F), 0, 0), BitsOfFloat(1.5F));
  order = OrderOf(kFloat8E4M3, kFlip);
  order.field = kExponent;
  order.adjacent = 2;
  order.bit = 2;
  EXPECT_EQ(Changed(order, 0, 0, 0, 0), 0x60u);
}

TEST(Change, RefusesABitThatTheFieldDoesNotHave) {
  for (const uint32_t type : kTypes) {
    for (const uint32_t field : {kWhole, kSign, kExponent, kMantissa}) {
      const uint32_t count = BitsOf(FormatOf(type), field).count;
      Order order = OrderOf(type, kFlip);
      order.field = field;
      order.bit = count;
      EXPECT_FALSE(Fits(order)) << type << " " << field;
      if (count == 0) continue;
      order.bit = count - 1;
      EXPECT_TRUE(Fits(order)) << type << " " << field;
      order.adjacent = 2;
      EXPECT_FALSE(Fits(order)) << type << " " << field;
    }
  }
  EXPECT_FALSE(Fits(OrderOf(kInt8, kNan)));
  EXPECT_FALSE(Fits(OrderOf(kFloat64, kScale)));
  EXPECT_FALSE(Fits(OrderOf(kNoType, kFlip)));
}

TEST(Change, DrawsABitWithinTheFieldForEachElement) {
  Order order = OrderOf(kFloat16, kFlip);
  order.field = kExponent;
  order.bit = kDrawnBit;
  std::set<uint64_t> masks;
  for (uint64_t i = 0; i < 200; ++i) masks.insert(Changed(order, i, 0, 0, 3));
  EXPECT_EQ(masks, (std::set<uint64_t>{0x400, 0x800, 0x1000, 0x2000, 0x4000}));
}

TEST(Change, MakesWhatIsNotANumberOfTheSameSign) {
  for (const uint32_t type : {kFloat8E4M3, kFloat8E5M2, kFloat16, kBfloat16, kFloat32, kFloat64}) {
    const Format format = FormatOf(type);
    const uint64_t infinity = type == kFloat8E4M3 ? format.largest : format.largest + 1;
    for (const uint64_t raw : {uint64_t{0}, uint64_t{1}, format.largest, uint64_t{1} << (format.bits - 1)}) {
      const uint64_t after = Changed(OrderOf(type, kNan), 0, raw, 0, 0);
      EXPECT_GT(MagnitudeOf(format, after), infinity) << type;
      EXPECT_EQ(after >> (format.bits - 1), raw >> (format.bits - 1)) << type;
    }
  }
}

// The machine's own multiplication, where it has one of that format.
TEST(Change, ScalesAsTheProcessorDoes) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50'000; ++i) {
    const auto raw = static_cast<uint32_t>(random());
    Order order = OrderOf(kFloat32, kScale);
    order.factor = FloatOf((random() & 0x80ffffff) | (0x3c + random() % 8) << 24);
    const float value = FloatOf(raw);
    const uint64_t after = Changed(order, 0, raw, 0, 0);
    if (std::isfinite(value)) {
      ASSERT_EQ(after, BitsOfFloat(value * order.factor)) << value << " * " << order.factor;
    } else {
      ASSERT_EQ(after, raw);
    }
  }
}

TEST(Change, ScalesToTheNearestValueOfEachNarrowFormat) {
  for (const uint32_t type : {kFloat8E4M3, kFloat8E5M2, kFloat16, kBfloat16, kInt8, kUint8}) {
    const Format format = FormatOf(type);
    std::vector<double> values;
    for (uint64_t raw = 0; raw <= format.largest; ++raw) values.push_back(ValueOf(type, raw));
    for (const float factor : {0.75F, -1.5F, 3.0F, 0.001F, 100.0F}) {
      Order order = OrderOf(type, kScale);
      order.factor = factor;
      for (uint64_t raw = 0; raw <= format.largest; raw += format.bits == 16 ? 37 : 1) {
        const double wanted = std::abs(ValueOf(type, raw) * factor);
        const uint64_t after = MagnitudeOf(format, Changed(order, 0, raw, 0, 0));
        if (type == kUint8 && factor < 0) {
          ASSERT_EQ(after, 0u);
          continue;
        }
        if (after > format.largest) {
          ASSERT_GT(wanted, values.back());
          continue;
        }
        const double off = std::abs(values[after] - wanted);
        const double below = after > 0 ? std::abs(values[after - 1] - wanted) : off;
        const double above = after < format.largest ? std::abs(values[after + 1] - wanted) : off;
        ASSERT_LE(off, std::min(below, above)) << type << " " << raw << " " << factor;
      }
    }
  }
}

TEST(Change, WritesBoundsAsTheTypeDoes) {
  EXPECT_EQ(RawOf(kFloat32, 0.1), BitsOfFloat(0.1F));
  EXPECT_EQ(RawOf(kBfloat16, 1.0), 0x3f80u);
  EXPECT_EQ(RawOf(kFloat16, 65504), 0x7bffu);
  EXPECT_EQ(RawOf(kFloat16, 1e9), 0x7c00u);
  EXPECT_EQ(RawOf(kFloat8E4M3, 448), 0x7eu);
  EXPECT_EQ(RawOf(kFloat8E5M2, -57344), 0xfbu);
  EXPECT_EQ(RawOf(kInt8, -128), 0x80u);
  EXPECT_EQ(RawOf(kInt8, 1e12), 0x7fu);
  EXPECT_EQ(RawOf(kFloat32, 1e-45), 1u);
}

TEST(Shuffle, IsAPermutationAndItsInverse) {
  for (const uint64_t total : {1, 2, 3, 5, 8, 100, 1000, 4097}) {
    for (uint64_t call = 0; call < 5; ++call) {
      const Shuffle shuffle(99, call, total);
      std::vector<bool> seen(total);
      for (uint64_t place = 0; place < total; ++place) {
        const uint64_t at = shuffle.At(place);
        ASSERT_LT(at, total);
        ASSERT_FALSE(seen[at]);
        seen[at] = true;
        ASSERT_EQ(shuffle.PlaceOf(at), place);
      }
    }
  }
}

TEST(Shuffle, PicksEachElementEquallyOften) {
  constexpr uint64_t kTotal = 50;
  constexpr uint64_t kCalls = 20'000;
  std::vector<uint64_t> counts(kTotal);
  for (uint64_t call = 0; call < kCalls; ++call) {
    const Shuffle shuffle(7, call, kTotal);
    for (uint64_t place = 0; place < 3; ++place) ++counts[shuffle.At(place)];
  }
  const double expected = 3.0 * kCalls / kTotal;
  double chi = 0;
  for (const uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi += off * off / expected;
  }
  EXPECT_LT(chi, 95);  // 49 degrees of freedom: above 95 once in ten thousand, and the seed is fixed
}

TEST(Chance, DrawsABinomialCount) {
  struct {
    uint64_t total;
    double chance;
  } const cases[] = {{10, 0.3}, {1000, 0.001}, {1'000'000, 0.002}, {50, 0.9}, {200, 0.5}};
  for (const auto& [total, chance] : cases) {
    constexpr int kCalls = 4000;
    double sum = 0;
    double squares = 0;
    for (int call = 0; call < kCalls; ++call) {
      const uint64_t drawn = DrawnCount(11, static_cast<uint64_t>(call), total, chance);
      ASSERT_LE(drawn, total);
      const auto count = static_cast<double>(drawn);
      sum += count;
      squares += count * count;
    }
    const double mean = sum / kCalls;
    const double variance = squares / kCalls - mean * mean;
    const double wanted = static_cast<double>(total) * chance;
    EXPECT_NEAR(mean, wanted, 4 * std::sqrt(wanted * (1 - chance) / kCalls)) << total;
    EXPECT_NEAR(variance / (wanted * (1 - chance)), 1, 0.12) << total;
  }
  EXPECT_EQ(DrawnCount(1, 1, 100, 0), 0u);
  EXPECT_EQ(DrawnCount(1, 1, 100, 1), 100u);
}

Order RandomOrder(std::mt19937_64& random, uint64_t total) {
  for (;;) {
    Order order{};
    order.type = kTypes[random() % std::size(kTypes)];
    order.change = static_cast<uint32_t>(1 + random() % 7);
    order.pick = static_cast<uint32_t>(1 + random() % 6);
    order.field = static_cast<uint32_t>(random() % 4);
    order.adjacent = static_cast<uint32_t>(1 + random() % 2);
    order.bit = random() % 3 == 0 ? kDrawnBit : static_cast<uint32_t>(random() % 32);
    order.factor = static_cast<float>(random() % 2000) / 100 - 10;
    order.ranged = random() % 2;
    order.low = random() & LowBits(FormatOf(order.type).bits);
    order.high = order.low + (random() & LowBits(FormatOf(order.type).bits - 2));
    order.index = random() % (total + 3);
    order.count = random() % (total / 2 + 2);
    order.lanes = uint64_t{8} << random() % 3;
    order.row = random() % 4;
    order.rows = 1 + random() % 8;
    order.columns = 1 + random() % 8;
    order.pitch = 16;
    order.source = random() % total;
    order.chance = static_cast<double>(random() % 1000) / 1000;
    order.seed = random();
    if (Fits(order)) return order;
  }
}

// What Apply does is what the definition says of each element for itself.
TEST(Apply, ChangesWhatTheDefinitionSaysAndNothingElse) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1500; ++round) {
    const uint64_t total = 1 + random() % 3000;
    const uint64_t call = random() % 100;
    const Order order = RandomOrder(random, total);
    const uint32_t width = BytesOf(order.type);
    std::vector<unsigned char> data(total * width);
    for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
    // A block that is copied over a part of itself: from the first element on, so the definition reads what is there.
    std::vector<unsigned char> wanted = data;
    const Shuffle shuffle(order.seed, call, total);
    const uint64_t count = CountOf(order, total, call);
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> hits;
    for (uint64_t i = 0; i < total; ++i) {
      const uint64_t before = collective::LoadRaw(order.type, wanted.data(), i);
      if (!IsPicked(order, shuffle, count, i) || !InRange(order, before)) continue;
      uint64_t other = before;
      if (order.change == kReplace && order.source + i - order.index < total) {
        other = collective::LoadRaw(order.type, wanted.data(), order.source + i - order.index);
      }
      const uint64_t after = Changed(order, i, before, other, call);
      if (after == before) continue;
      collective::StoreRaw(order.type, wanted.data(), i, after);
      hits[i] = {before, after};
    }
    Kept kept;
    const uint64_t changed = collective::Apply(order, {data.data(), total, nullptr, 0}, call, kept.Sink());
    ASSERT_EQ(data, wanted) << "round " << round << " type " << order.type << " pick " << order.pick;
    ASSERT_EQ(changed, hits.size());
    ASSERT_EQ(kept.hits.size(), hits.size());
    for (const collective::Hit& hit : kept.hits) ASSERT_EQ(hits[hit.index], (std::pair{hit.before, hit.after}));
  }
}

TEST(Apply, PutsARememberedBlockBack) {
  std::vector<float> data = {1, 2, 3, 4, 5};
  const std::vector<float> old = {9, 3};
  Order order = OrderOf(kFloat32, kReplace);
  order.index = 1;
  order.count = 3;
  Kept kept;
  EXPECT_EQ(collective::Apply(order, {data.data(), data.size(), old.data(), old.size()}, 0, kept.Sink()), 1u);
  EXPECT_EQ(data, (std::vector<float>{1, 9, 3, 4, 5}));
}

TEST(Apply, CostsWhatItPicksAndNotTheBuffer) {
  // A buffer that is not there: whoever looked at every element would end here.
  Order order = OrderOf(kInt8, kFlip);
  order.pick = kChance;
  order.chance = 0;
  Kept kept;
  EXPECT_EQ(collective::Apply(order, {nullptr, uint64_t{1} << 50, nullptr, 0}, 0, kept.Sink()), 0u);
  // 110 of 2^40, ± six standard deviations.
  EXPECT_NEAR(static_cast<double>(DrawnCount(3, 0, uint64_t{1} << 40, 1e-10)), 110, 63);
}

TEST(Apply, DoesNothingWithAnOrderThatDoesNotFit) {
  std::vector<int8_t> data(64, 3);
  Order order = OrderOf(kInt8, kNan);
  Kept kept;
  EXPECT_EQ(collective::Apply(order, {data.data(), data.size(), nullptr, 0}, 0, kept.Sink()), 0u);
  EXPECT_EQ(data, std::vector<int8_t>(64, 3));
}

}  // namespace
}  // namespace triodrill::corruption
