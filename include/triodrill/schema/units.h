// Values with units, as people write them. Each Parse function takes exactly what its unit allows and says in its error
// what is wrong, and after "; " what to write instead. Nothing is rounded in silence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

// "500ms", "10s", "2min", "1h", "1.5s", "100us", "10ns", "1d". Never negative; a whole number of nanoseconds.
Result<Nanos> ParseDuration(std::string_view text);

// Exact, in the largest unit that gives a whole number: "90s", "2min", "1500ms".
std::string FormatDuration(Nanos duration);
std::string FormatDuration(const google::protobuf::Duration& duration);

Result<double> ParsePercent(std::string_view text);         // "20%" -> 20
Result<double> ParseRatio(std::string_view text);           // "0.95" or "95%" -> 0.95
Result<int64_t> ParseBytes(std::string_view text);          // "64MiB", "10kB", "512B"
Result<int64_t> ParseBitsPerSecond(std::string_view text);  // "10Mbit/s"

// A decimal number, finite; no hexadecimal, no separators, no blanks.
Result<double> ParseNumber(std::string_view text);

// ">= 1", "> 0.5", "<= 3", "< 2", "== 1".
struct Comparison {
  enum class Operator { kLess, kAtMost, kEqual, kAtLeast, kGreater };
  Operator op = Operator::kEqual;
  double value = 0;

  bool Holds(double measured) const;
};
Result<Comparison> ParseComparison(std::string_view text);

// [a-z0-9]([a-z0-9-]*[a-z0-9])?, at most 63 characters.
bool IsIdentifier(std::string_view text);

}  // namespace triodrill
