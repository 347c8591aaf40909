#include "triodrill/schema/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

// Smallest first.
constexpr std::array<Unit, 7> kDurations = {{{"ns", 1},
                                             {"us", 1'000},
                                             {"ms", 1'000'000},
                                             {"s", 1'000'000'000},
                                             {"min", 60'000'000'000},
                                             {"h", 3'600'000'000'000},
                                             {"d", 86'400'000'000'000}}};
constexpr std::array<Unit, 9> kBytes = {{{"B", 1},
                                         {"kB", 1'000},
                                         {"KiB", 1'024},
                                         {"MB", 1'000'000},
                                         {"MiB", int64_t{1} << 20},
                                         {"GB", 1'000'000'000},
                                         {"GiB", int64_t{1} << 30},
                                         {"TB", 1'000'000'000'000},
                                         {"TiB", int64_t{1} << 40}}};
constexpr std::array<Unit, 5> kRates = {
    {{"bit/s", 1}, {"kbit/s", 1'000}, {"Mbit/s", 1'000'000}, {"Gbit/s", 1'000'000'000}, {"Tbit/s", 1'000'000'000'000}}};

std::string_view WithoutLeadingBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

Status Bad(std::string_view what) { return absl::InvalidArgumentError(View(what)); }

// What a family of units is called in messages.
struct Family {
  std::string_view noun;
  std::string_view units;
  std::string_view example;
  std::string_view usual;  // the unit that is offered where none was written
  std::string_view finest;
};
constexpr Family kDurationFamily = {"a duration", "ns, us, ms, s, min, h, d", "10s", "s", "a nanosecond"};
constexpr Family kByteFamily = {"a size", "B, kB, KiB, MB, MiB, GB, GiB, TB, TiB", "64MiB", "B", "a byte"};
constexpr Family kRateFamily = {"a rate", "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s", "10Mbit/s", "bit/s",
                                "one bit a second"};

// digits[.digits] times `factor`, exactly; nullopt if it is not a whole number or too large.
std::optional<int64_t> Scale(std::string_view whole, std::string_view fraction, int64_t factor) {
  while (fraction.ends_with("0")) fraction.remove_suffix(1);
  if (fraction.size() > 18) return std::nullopt;
  __extension__ using Wide = __int128;
  constexpr Wide kMost = std::numeric_limits<int64_t>::max();
  Wide value = 0;
  for (const char digit : whole) {
    value = value * 10 + (digit - '0');
    if (value > kMost) return std::nullopt;
  }
  Wide part = 0;
  Wide denominator = 1;
  for (const char digit : fraction) {
    part = part * 10 + (digit - '0');
    denominator *= 10;
  }
  if (part * factor % denominator != 0) return std::nullopt;
  value = value * factor + part * factor / denominator;
  if (value > kMost) return std::nullopt;
  return static_cast<int64_t>(value);
}

template <size_t N>
Result<int64_t> ParseWithUnit(std::string_view text, const std::array<Unit, N>& units, const Family& family) {
  const auto digits_from = [&](size_t from) {
    size_t to = from;
    while (to < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[to]))) ++to;
    return to;
  };
  if (text.starts_with("-")) return Bad(Cat(family.noun, " cannot be negative"));
  const size_t whole_end = digits_from(0);
  size_t number_end = whole_end;
  std::string_view fraction;
  if (number_end < text.size() && text[number_end] == '.') {
    number_end = digits_from(whole_end + 1);
    fraction = text.substr(whole_end + 1, number_end - whole_end - 1);
  }
  const bool has_number = whole_end > 0 && (number_end == whole_end || !fraction.empty());
  if (!has_number) {
    return Bad(Cat("not ", family.noun, "; write a number and a unit, like ", family.example));
  }
  const std::string_view name = text.substr(number_end);
  if (name.empty()) {
    return Bad(Cat(family.noun, " without a unit; write ", text, family.usual, " or another of ", family.units));
  }
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const auto scaled = Scale(text.substr(0, whole_end), fraction, unit.factor);
    if (!scaled) return Bad(Cat(family.noun, " too large, or finer than ", family.finest));
    return *scaled;
  }
  return Bad(Cat("no such unit `", name, "` for ", family.noun, "; known: ", family.units));
}

}  // namespace

Result<Nanos> ParseDuration(std::string_view text) {
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t nanos, ParseWithUnit(text, kDurations, kDurationFamily));
  return Nanos(nanos);
}

std::string FormatDuration(Nanos duration) {
  const int64_t nanos = duration.count();
  if (nanos == 0) return "0s";
  for (size_t i = kDurations.size(); i-- > 1;) {
    if (nanos % kDurations[i].factor == 0) return Cat(nanos / kDurations[i].factor, kDurations[i].name);
  }
  return Cat(nanos, "ns");
}

std::string FormatDuration(const google::protobuf::Duration& duration) { return FormatDuration(ToNanos(duration)); }

Result<int64_t> ParseBytes(std::string_view text) { return ParseWithUnit(text, kBytes, kByteFamily); }
Result<int64_t> ParseBitsPerSecond(std::string_view text) { return ParseWithUnit(text, kRates, kRateFamily); }

Result<double> ParseNumber(std::string_view text) {
  double value = 0;
  std::string_view digits = text;
  if (digits.starts_with("+")) digits.remove_prefix(1);
  std::string_view shape = digits;
  if (shape.starts_with("-") && text.front() != '+') shape.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return Bad("too large or too small for a number");
  const bool starts_with_digit = !shape.empty() && absl::ascii_isdigit(static_cast<unsigned char>(shape.front()));
  if (error != std::errc() || end != digits.data() + digits.size() || !starts_with_digit || shape.back() == '.') {
    return Bad("not a decimal number");
  }
  return value;
}

Result<double> ParsePercent(std::string_view text) {
  if (!text.ends_with("%")) {
    if (ParseNumber(text).ok()) return Bad(Cat("a percentage without its sign; write ", text, "%"));
    return Bad("not a percentage; write a number and %, like 20%");
  }
  const auto value = ParseNumber(text.substr(0, text.size() - 1));
  if (!value.ok()) return Bad("not a percentage; write a number and %, like 20%");
  return *value;
}

Result<double> ParseRatio(std::string_view text) {
  if (text.ends_with("%")) {
    TRIODRILL_ASSIGN_OR_RETURN(const double percent, ParsePercent(text));
    return percent / 100;
  }
  const auto value = ParseNumber(text);
  if (!value.ok()) return Bad("not a ratio; write 0.95 or 95%");
  return *value;
}

bool Comparison::Holds(double measured) const {
  switch (op) {
    case Operator::kLess:
      return measured < value;
    case Operator::kAtMost:
      return measured <= value;
    case Operator::kEqual:
      return measured == value;
    case Operator::kAtLeast:
      return measured >= value;
    case Operator::kGreater:
      return measured > value;
  }
  return false;
}

Result<Comparison> ParseComparison(std::string_view text) {
  static constexpr std::pair<std::string_view, Comparison::Operator> kOperators[] = {
      {">=", Comparison::Operator::kAtLeast}, {"<=", Comparison::Operator::kAtMost},
      {"==", Comparison::Operator::kEqual},   {">", Comparison::Operator::kGreater},
      {"<", Comparison::Operator::kLess},
  };
  for (const auto& [spelling, op] : kOperators) {
    if (!text.starts_with(spelling)) continue;
    const auto value = ParseNumber(WithoutLeadingBlanks(text.substr(spelling.size())));
    if (!value.ok()) break;
    return Comparison{op, *value};
  }
  return Bad("not a comparison; write an operator (>=, >, <=, <, ==) and a number, like \">= 1\"");
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  for (const char c : text) {
    if (!absl::ascii_islower(static_cast<unsigned char>(c)) && !absl::ascii_isdigit(static_cast<unsigned char>(c)) &&
        c != '-') {
      return false;
    }
  }
  return true;
}

}  // namespace triodrill
