#include "triodrill/workload/corrupt.h"

#include <cstring>

#include "triodrill/workload.h"

namespace triodrill::workload {
namespace {

struct FloatFormat {
  uint32_t exponent_bits;
  uint32_t mantissa_bits;
};

bool FormatOf(uint32_t dtype, FloatFormat* format) {
  switch (dtype) {
    case TRIODRILL_FLOAT32:
      *format = {8, 23};
      return true;
    case TRIODRILL_FLOAT64:
      *format = {11, 52};
      return true;
    case TRIODRILL_FLOAT16:
      *format = {5, 10};
      return true;
    case TRIODRILL_BFLOAT16:
      *format = {8, 7};
      return true;
    default:
      return false;
  }
}

// A well-mixed number for each input (SplitMix64's finaliser).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <typename To, typename From>
To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

__extension__ using Wide = unsigned __int128;

// Only the formats that the processor multiplies in; the narrow ones go through float and are cut, not rounded.
bool Scale(uint32_t dtype, double factor, uint64_t raw, uint64_t* scaled) {
  switch (dtype) {
    case TRIODRILL_FLOAT32: {
      const double value = BitsAs<float>(static_cast<uint32_t>(raw)) * factor;
      *scaled = BitsAs<uint32_t>(static_cast<float>(value));
      return true;
    }
    case TRIODRILL_FLOAT64:
      *scaled = BitsAs<uint64_t>(BitsAs<double>(raw) * factor);
      return true;
    case TRIODRILL_BFLOAT16: {
      const double value = BitsAs<float>(static_cast<uint32_t>(raw) << 16) * factor;
      *scaled = BitsAs<uint32_t>(static_cast<float>(value)) >> 16;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

uint32_t WidthOf(uint32_t dtype) {
  switch (dtype) {
    case TRIODRILL_FLOAT32:
    case TRIODRILL_INT32:
      return 4;
    case TRIODRILL_FLOAT64:
    case TRIODRILL_INT64:
      return 8;
    case TRIODRILL_FLOAT16:
    case TRIODRILL_BFLOAT16:
      return 2;
    case TRIODRILL_INT8:
      return 1;
    default:
      return 0;
  }
}

// Little-endian, as everything that trains.
uint64_t LoadRaw(const Span& span, uint64_t index) {
  uint64_t raw = 0;
  const uint32_t width = WidthOf(span.dtype);
  std::memcpy(&raw, static_cast<const char*>(span.data) + index * width, width);
  return raw;
}

void StoreRaw(const Span& span, uint64_t index, uint64_t raw) {
  const uint32_t width = WidthOf(span.dtype);
  std::memcpy(static_cast<char*>(span.data) + index * width, &raw, width);
}

bool Mutate(const RuleOrder& order, uint32_t dtype, uint64_t raw, uint64_t* mutated) {
  const uint32_t bits = WidthOf(dtype) * 8;
  FloatFormat format{};
  switch (order.kind) {
    case kFlip:
      if (order.bit >= bits) return false;
      *mutated = raw ^ (uint64_t{1} << order.bit);
      return true;
    case kStuck:
      if (order.bit >= bits) return false;
      *mutated = order.value != 0 ? raw | (uint64_t{1} << order.bit) : raw & ~(uint64_t{1} << order.bit);
      return true;
    case kScale:
      return Scale(dtype, order.factor, raw, mutated);
    case kNan:
      if (!FormatOf(dtype, &format)) return false;
      // All of the exponent, and the mantissa's first bit: quiet, and the sign stays.
      *mutated = raw | (((uint64_t{1} << (format.exponent_bits + 1)) - 1) << (format.mantissa_bits - 1));
      return true;
    default:
      return false;
  }
}

uint64_t Pick(const RuleOrder& order, uint64_t total, uint32_t ordinal, const uint64_t* drawn) {
  if (ordinal >= total) return total;
  if (order.pick == kByIndex) return order.index < total - ordinal ? order.index + ordinal : total;
  for (uint64_t attempt = 0; attempt < 64; ++attempt) {
    const uint64_t mixed = Mix(Mix(order.seed) + (uint64_t{ordinal} << 8) + attempt);
    const auto index = static_cast<uint64_t>((static_cast<Wide>(mixed) * total) >> 64);
    bool again = false;
    for (uint32_t i = 0; i < ordinal && !again; ++i) again = drawn[i] == index;
    if (!again) return index;
  }
  // Nearly all are taken: the first that is not.
  for (uint64_t index = 0; index < total; ++index) {
    bool taken = false;
    for (uint32_t i = 0; i < ordinal && !taken; ++i) taken = drawn[i] == index;
    if (!taken) return index;
  }
  return total;
}

bool NameMatches(const char* wanted, const char* name) {
  const size_t length = std::strlen(wanted);
  return length != 0 && std::strncmp(wanted, name, length) == 0 && (name[length] == '\0' || name[length] == '/');
}

}  // namespace triodrill::workload
