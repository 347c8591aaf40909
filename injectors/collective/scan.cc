#include "injectors/collective/scan.h"

#include <algorithm>
#include <type_traits>

namespace triodrill::collective {
namespace {

using corruption::Format;
using corruption::Order;

template <typename T>
bool AnyOf(const void* data, uint64_t elements, T low, T high, bool sign_bit, bool integer) {
  using Unsigned = std::make_unsigned_t<T>;
  const T* const values = static_cast<const T*>(data);
  constexpr auto kMagnitude = static_cast<T>(static_cast<Unsigned>(~Unsigned{0}) >> 1);
  T found = 0;
  // Three loops, so that none asks anything of an element but its bounds.
  if (!sign_bit) {
    Unsigned any = 0;
    for (uint64_t i = 0; i < elements; ++i) {
      const auto value = static_cast<Unsigned>(values[i]);
      const bool in = std::clamp(value, static_cast<Unsigned>(low), static_cast<Unsigned>(high)) == value;
      any = static_cast<Unsigned>(any | static_cast<Unsigned>(in ? ~Unsigned{0} : Unsigned{0}));
    }
    return any != 0;
  }
  if (!integer) {
    for (uint64_t i = 0; i < elements; ++i) {
      const T magnitude = static_cast<T>(values[i] & kMagnitude);
      const T in = static_cast<T>(magnitude >= low ? T{-1} : T{0}) & static_cast<T>(magnitude <= high ? T{-1} : T{0});
      found = static_cast<T>(found | in);
    }
    return found != 0;
  }
  Unsigned any = 0;
  const auto span = static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low));
  for (uint64_t i = 0; i < elements; ++i) {
    const auto raw = static_cast<Unsigned>(values[i]);
    const auto magnitude = static_cast<Unsigned>(values[i] < 0 ? static_cast<Unsigned>(Unsigned{0} - raw) : raw);
    const bool in = static_cast<Unsigned>(magnitude - static_cast<Unsigned>(low)) <= span;
    any = static_cast<Unsigned>(any | static_cast<Unsigned>(in ? ~Unsigned{0} : Unsigned{0}));
  }
  return any != 0;
}

template <typename T>
bool Any(const Order& order, const Format& format, const void* data, uint64_t elements) {
  const uint64_t widest = corruption::LowBits(format.bits);
  if (order.low > order.high || order.low > widest) return false;
  const uint64_t most = IsSigned(format) && format.exponent_bits != 0 ? widest >> 1 : widest;
  if (order.low > most) return false;
  return AnyOf<T>(data, elements, static_cast<T>(order.low), static_cast<T>(std::min(order.high, most)),
                  IsSigned(format), format.exponent_bits == 0);
}

}  // namespace

bool AnyInRange(const Order& order, const void* data, uint64_t elements) {
  const Format format = corruption::FormatOf(order.type);
  switch (format.bits) {
    case 8:
      return Any<int8_t>(order, format, data, elements);
    case 16:
      return Any<int16_t>(order, format, data, elements);
    case 32:
      return Any<int32_t>(order, format, data, elements);
    case 64:
      return Any<int64_t>(order, format, data, elements);
    default:
      return false;
  }
}

}  // namespace triodrill::collective
