// What a fault does to the elements of a buffer: which of them it picks and what each becomes. Every model of damage
// that faulty hardware shows: single and adjacent bits by field, stuck lanes, tiles, values in a range, scaled, zeroed,
// not a number, a block from elsewhere or from before.
//
// One definition for the CPU and the GPU, in integers only, so that they agree to the bit: no rounding mode, no
// contraction, no flushing of subnormals takes part. Picks and bits are functions of the seed, the number of the call
// and the number of the element, so the truth can be derived again from those. (How *many* elements a chance picks is
// drawn on the CPU, in IEEE operations that are exact everywhere: compile it without contraction.) Pure, no state, any
// thread; who applies it to memory stands elsewhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "triodrill/philox.h"

namespace triodrill::corruption {

enum Type : uint32_t {
  kNoType = 0,
  kInt8 = 1,
  kUint8 = 2,
  kInt32 = 3,
  kUint32 = 4,
  kInt64 = 5,
  kUint64 = 6,
  kFloat8E4M3 = 7,  // as OCP defines it: no infinity
  kFloat8E5M2 = 8,
  kFloat16 = 9,
  kBfloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
};

enum Field : uint32_t { kWhole = 0, kSign = 1, kExponent = 2, kMantissa = 3 };

enum Change : uint32_t {
  kFlip = 1,     // the bits become the other
  kSet = 2,      // … 1: stuck at it
  kClear = 3,    // … 0
  kScale = 4,    // the value times `factor`, to the nearest; infinite and not a number stay
  kZero = 5,     // +0
  kNan = 6,      // not a number, of the same sign
  kReplace = 7,  // what another element is (a block twice), or was (a stale block)
};

enum Pick : uint32_t {
  kRun = 1,     // `count` of them, from `index` on
  kLane = 2,    // those whose number is `index` modulo `lanes`
  kTile = 3,    // `rows` × `columns` from (`row`, `index`) on, of a matrix with rows of `pitch` elements
  kDrawn = 4,   // `count` different ones, drawn
  kChance = 5,  // each with probability `chance`: how many is drawn, then which
  kEvery = 6,   // all; with a range, those in it
};

inline constexpr uint32_t kDrawnBit = 0xffffffff;

struct Order {
  uint32_t type;
  uint32_t change;
  uint32_t pick;
  uint32_t field;
  uint32_t bit;       // within the field, from its least significant one; kDrawnBit: another one for each element
  uint32_t adjacent;  // 1, or 2: that bit and the next
  float factor;
  uint32_t ranged;  // not 0: only elements whose magnitude is within low … high
  uint64_t low;     // raw magnitudes, see MagnitudeOf and RawOf
  uint64_t high;
  uint64_t index;
  uint64_t count;
  uint64_t lanes;
  uint64_t row;
  uint64_t rows;
  uint64_t columns;
  uint64_t pitch;
  uint64_t source;  // of kReplace, kRun: the first element of the block that is put there
  double chance;
  uint64_t seed;
};
static_assert(std::is_trivially_copyable_v<Order>);

struct Format {
  uint32_t bits;
  uint32_t exponent_bits;  // 0: an integer
  uint32_t mantissa_bits;
  uint64_t largest;  // raw bits of the largest finite value; the next is what does not fit any more
};

TRIODRILL_HOST_DEVICE constexpr Format FormatOf(uint32_t type) {
  switch (type) {
    case kInt8:
      return {8, 0, 7, 0x7f};
    case kUint8:
      return {8, 0, 8, 0xff};
    case kInt32:
      return {32, 0, 31, 0x7fffffff};
    case kUint32:
      return {32, 0, 32, 0xffffffff};
    case kInt64:
      return {64, 0, 63, 0x7fffffffffffffff};
    case kUint64:
      return {64, 0, 64, 0xffffffffffffffff};
    case kFloat8E4M3:
      return {8, 4, 3, 0x7e};
    case kFloat8E5M2:
      return {8, 5, 2, 0x7b};
    case kFloat16:
      return {16, 5, 10, 0x7bff};
    case kBfloat16:
      return {16, 8, 7, 0x7f7f};
    case kFloat32:
      return {32, 8, 23, 0x7f7fffff};
    case kFloat64:
      return {64, 11, 52, 0x7fefffffffffffff};
    default:
      return {0, 0, 0, 0};
  }
}

TRIODRILL_HOST_DEVICE constexpr uint32_t BytesOf(uint32_t type) { return FormatOf(type).bits / 8; }
TRIODRILL_HOST_DEVICE constexpr bool IsSigned(const Format& format) {
  return format.exponent_bits + format.mantissa_bits < format.bits;
}
TRIODRILL_HOST_DEVICE constexpr uint64_t LowBits(uint32_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// First bit and number of bits of a field; {0, 0} if the type has none.
struct BitRange {
  uint32_t first;
  uint32_t count;
};
TRIODRILL_HOST_DEVICE constexpr BitRange BitsOf(const Format& format, uint32_t field) {
  switch (field) {
    case kWhole:
      return {0, format.bits};
    case kSign:
      return {format.bits - 1, IsSigned(format) ? 1u : 0u};
    case kExponent:
      return {format.mantissa_bits, format.exponent_bits};
    case kMantissa:
      return {0, format.mantissa_bits};
    default:
      return {0, 0};
  }
}

// |x| as a number that is ordered as the values are: raw bits without the sign, or an integer's magnitude.
TRIODRILL_HOST_DEVICE constexpr uint64_t MagnitudeOf(const Format& format, uint64_t raw) {
  if (!IsSigned(format)) return raw;
  const uint64_t sign = uint64_t{1} << (format.bits - 1);
  if (format.exponent_bits != 0 || (raw & sign) == 0) return raw & ~sign;
  return (~raw + 1) & LowBits(format.bits);
}

// A finite value: mantissa × 2^exponent.
struct Number {
  bool negative;
  uint64_t mantissa;
  int32_t exponent;
};

TRIODRILL_HOST_DEVICE constexpr Number Decode(const Format& format, uint64_t raw) {
  const bool negative = IsSigned(format) && (raw >> (format.bits - 1) & 1) != 0;
  if (format.exponent_bits == 0) return {negative, MagnitudeOf(format, raw), 0};
  const auto bias = static_cast<int32_t>(LowBits(format.exponent_bits - 1));
  const auto exponent = static_cast<int32_t>(raw >> format.mantissa_bits & LowBits(format.exponent_bits));
  const uint64_t mantissa = raw & LowBits(format.mantissa_bits);
  const auto width = static_cast<int32_t>(format.mantissa_bits);
  if (exponent == 0) return {negative, mantissa, 1 - bias - width};
  return {negative, mantissa | uint64_t{1} << format.mantissa_bits, exponent - bias - width};
}

// mantissa × 2^-shift, to the nearest, halves to even. A mantissa of at most 56 bits.
TRIODRILL_HOST_DEVICE constexpr uint64_t Rounded(uint64_t mantissa, int32_t shift) {
  if (shift <= 0) return shift < -63 ? 0 : mantissa << -shift;
  if (shift > 60) return 0;
  const uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & LowBits(static_cast<uint32_t>(shift));
  const uint64_t half = uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

TRIODRILL_HOST_DEVICE constexpr int32_t LengthOf(uint64_t value) {
  int32_t length = 0;
  for (; value != 0; value >>= 1) ++length;
  return length;
}

TRIODRILL_HOST_DEVICE constexpr uint64_t EncodeInteger(const Format& format, const Number& number) {
  if (number.negative && !IsSigned(format)) return 0;
  const uint64_t most = format.largest + (number.negative ? 1 : 0);
  const bool beyond = number.exponent > 0 && LengthOf(number.mantissa) + number.exponent > 63;
  const uint64_t rounded = beyond ? most : Rounded(number.mantissa, -number.exponent);
  const uint64_t magnitude = rounded > most ? most : rounded;
  return (number.negative ? ~magnitude + 1 : magnitude) & LowBits(format.bits);
}

// The nearest value of the format; what is too large becomes infinite, or what the format has instead, and an integer
// stays at its bound.
TRIODRILL_HOST_DEVICE constexpr uint64_t Encode(const Format& format, const Number& number) {
  if (format.exponent_bits == 0) return EncodeInteger(format, number);
  const uint64_t sign = number.negative ? uint64_t{1} << (format.bits - 1) : 0;
  if (number.mantissa == 0) return sign;
  const auto bias = static_cast<int32_t>(LowBits(format.exponent_bits - 1));
  const auto width = static_cast<int32_t>(format.mantissa_bits);
  const int32_t leading = number.exponent + LengthOf(number.mantissa) - 1;
  const bool subnormal = leading < 1 - bias;
  const int32_t unit = (subnormal ? 1 - bias : leading) - width;
  const uint64_t rounded = Rounded(number.mantissa, unit - number.exponent);
  if (leading + bias > static_cast<int32_t>(LowBits(format.exponent_bits))) return sign | (format.largest + 1);
  // A carry out of the mantissa goes into the exponent, as it should.
  const uint64_t raw =
      subnormal ? rounded
                : (static_cast<uint64_t>(leading + bias) << format.mantissa_bits) + rounded - (uint64_t{1} << width);
  return sign | (raw > format.largest ? format.largest + 1 : raw);
}

// The bits of a finite value in a type: what a range's bounds are written in.
inline uint64_t RawOf(uint32_t type, double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return Encode(FormatOf(type), Decode(FormatOf(kFloat64), bits));
}

TRIODRILL_HOST_DEVICE inline uint64_t Scaled(const Format& format, uint64_t raw, float factor) {
  if (format.exponent_bits != 0 && MagnitudeOf(format, raw) > format.largest) return raw;
  uint32_t bits = 0;
  memcpy(&bits, &factor, sizeof(bits));
  const Number by = Decode(FormatOf(kFloat32), bits);
  const Number number = Decode(format, raw);
  return Encode(format, {number.negative != by.negative, number.mantissa * by.mantissa, number.exponent + by.exponent});
}

// Whether the order says something that its type can do. What is outside the buffer it will find nothing of.
TRIODRILL_HOST_DEVICE inline bool Fits(const Order& order) {
  const Format format = FormatOf(order.type);
  if (format.bits == 0 || order.pick < kRun || order.pick > kEvery) return false;
  if (order.pick == kLane && (order.lanes == 0 || order.index >= order.lanes)) return false;
  if (order.pick == kTile && (order.pitch == 0 || order.index + order.columns > order.pitch)) return false;
  if (order.pick == kChance && !(order.chance >= 0 && order.chance <= 1)) return false;
  uint32_t bits = 0;
  memcpy(&bits, &order.factor, sizeof(bits));
  switch (order.change) {
    case kFlip:
    case kSet:
    case kClear: {
      const BitRange range = BitsOf(format, order.field);
      if (order.adjacent < 1 || order.adjacent > 2 || order.adjacent > range.count) return false;
      return order.bit == kDrawnBit || order.bit <= range.count - order.adjacent;
    }
    case kScale:
      // Longer products do not fit 64 bits.
      return (bits & 0x7fffffff) <= 0x7f7fffff && format.bits <= 32;
    case kNan:
      return format.exponent_bits != 0;
    case kZero:
      return true;
    case kReplace:
      return order.pick == kRun;
    default:
      return false;
  }
}

// Uses of the generator, see philox::Draw.
enum Use : uint32_t { kForPicks = 0, kForBits = 1, kForCounts = 2, kForCalls = 3 };

TRIODRILL_HOST_DEVICE inline uint64_t MaskOf(const Order& order, uint64_t index, uint64_t call) {
  const BitRange range = BitsOf(FormatOf(order.type), order.field);
  uint32_t bit = order.bit;
  if (bit == kDrawnBit) {
    const uint32_t drawn = philox::Draw(order.seed, kForBits, call, index).word[0];
    bit = static_cast<uint32_t>(uint64_t{drawn} * (range.count - order.adjacent + 1) >> 32);
  }
  return LowBits(order.adjacent) << (range.first + bit);
}

// What element `index` becomes; `other` is what kReplace puts there.
TRIODRILL_HOST_DEVICE inline uint64_t Changed(const Order& order, uint64_t index, uint64_t raw, uint64_t other,
                                              uint64_t call) {
  const Format format = FormatOf(order.type);
  switch (order.change) {
    case kFlip:
      return raw ^ MaskOf(order, index, call);
    case kSet:
      return raw | MaskOf(order, index, call);
    case kClear:
      return raw & ~MaskOf(order, index, call);
    case kScale:
      return Scaled(format, raw, order.factor);
    case kZero:
      return 0;
    case kNan:
      return raw | (format.largest + 1) | uint64_t{1} << (format.mantissa_bits - 1);
    case kReplace:
      return other;
    default:
      return raw;
  }
}

TRIODRILL_HOST_DEVICE constexpr bool InRange(const Order& order, uint64_t raw) {
  if (order.ranged == 0) return true;
  const uint64_t magnitude = MagnitudeOf(FormatOf(order.type), raw);
  return magnitude >= order.low && magnitude <= order.high;
}

}  // namespace triodrill::corruption
