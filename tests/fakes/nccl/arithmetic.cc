#include "tests/fakes/nccl/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace triodrill::fake_nccl {
namespace {

using corruption::Format;

// A narrow floating-point element: its value is a double's, to the bit.
template <typename Raw, uint32_t kType>
struct Narrow {
  Raw raw;

  double Value() const {
    constexpr Format kFormat = corruption::FormatOf(kType);
    if (MagnitudeOf(kFormat, raw) > kFormat.largest) {
      const bool infinite = kType != corruption::kFloat8E4M3 && MagnitudeOf(kFormat, raw) == kFormat.largest + 1;
      return std::copysign(infinite ? INFINITY : NAN, raw >> (kFormat.bits - 1) != 0 ? -1 : 1);
    }
    const corruption::Number number = corruption::Decode(kFormat, raw);
    return std::ldexp(static_cast<double>(number.mantissa), number.exponent) * (number.negative ? -1 : 1);
  }
  static Narrow Of(double value) {
    constexpr Format kFormat = corruption::FormatOf(kType);
    if (std::isfinite(value)) return {static_cast<Raw>(corruption::RawOf(kType, value))};
    const uint64_t sign = std::signbit(value) ? uint64_t{1} << (kFormat.bits - 1) : 0;
    const uint64_t nan = std::isnan(value) ? uint64_t{1} << (kFormat.mantissa_bits - 1) : 0;
    return {static_cast<Raw>(sign | (kFormat.largest + 1) | nan)};
  }
};

template <typename T>
auto ValueOf(T element) {
  if constexpr (std::is_arithmetic_v<T>) {
    return element;
  } else {
    return element.Value();
  }
}
template <typename T, typename V>
T ElementOf(V value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T::Of(static_cast<double>(value));
  }
}

// Whole numbers wrap, as the hardware's do.
template <typename V>
V Sum(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename V>
V Product(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T, typename Operator>
void Each(void* into, const void* from, size_t elements, Operator apply) {
  auto* const left = static_cast<T*>(into);
  const auto* const right = static_cast<const T*>(from);
  for (size_t i = 0; i < elements; ++i) left[i] = ElementOf<T>(apply(ValueOf(left[i]), ValueOf(right[i])));
}

template <typename T>
void CombineAs(nccl::RedOp op, void* into, const void* from, size_t elements) {
  switch (op) {
    case nccl::kProd:
      return Each<T>(into, from, elements, [](auto a, auto b) { return Product(a, b); });
    case nccl::kMax:
      return Each<T>(into, from, elements, [](auto a, auto b) { return std::max(a, b); });
    case nccl::kMin:
      return Each<T>(into, from, elements, [](auto a, auto b) { return std::min(a, b); });
    default:
      return Each<T>(into, from, elements, [](auto a, auto b) { return Sum(a, b); });
  }
}

template <typename T>
void DivideAs(void* values, size_t elements, int by) {
  auto* const all = static_cast<T*>(values);
  for (size_t i = 0; i < elements; ++i) {
    const auto value = ValueOf(all[i]);
    all[i] = ElementOf<T>(value / static_cast<decltype(value)>(by));
  }
}

template <typename Use>
void WithType(nccl::DataType type, Use use) {
  switch (type) {
    case nccl::kInt8:
      return use(int8_t{});
    case nccl::kUint8:
      return use(uint8_t{});
    case nccl::kInt32:
      return use(int32_t{});
    case nccl::kUint32:
      return use(uint32_t{});
    case nccl::kInt64:
      return use(int64_t{});
    case nccl::kUint64:
      return use(uint64_t{});
    case nccl::kFloat16:
      return use(Narrow<uint16_t, corruption::kFloat16>{});
    case nccl::kFloat32:
      return use(float{});
    case nccl::kFloat64:
      return use(double{});
    case nccl::kBfloat16:
      return use(Narrow<uint16_t, corruption::kBfloat16>{});
    case nccl::kFloat8E4M3:
      return use(Narrow<uint8_t, corruption::kFloat8E4M3>{});
    case nccl::kFloat8E5M2:
      return use(Narrow<uint8_t, corruption::kFloat8E5M2>{});
    default:
      return;
  }
}

}  // namespace

void Combine(nccl::DataType type, nccl::RedOp op, void* into, const void* from, size_t elements) {
  WithType(type, [&](auto example) { CombineAs<decltype(example)>(op, into, from, elements); });
}

void Divide(nccl::DataType type, void* values, size_t elements, int by) {
  WithType(type, [&](auto example) { DivideAs<decltype(example)>(values, elements, by); });
}

}  // namespace triodrill::fake_nccl
