// Dates as a ledger keeps them: UTC, "2026-11-29T12:00:00Z", which sorts as text; and the quarters that they lie in.
// Pure: no clock is read.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill::ledger {

struct Quarter {
  int year = 0;
  int number = 1;  // 1..4
  friend auto operator<=>(const Quarter&, const Quarter&) = default;
};

Result<Quarter> ParseQuarter(std::string_view text);  // "2026Q4"
std::string QuarterName(const Quarter& quarter);      // "2026Q4"
Quarter Before(const Quarter& quarter);

// "2026-11-29", "2026-11-29T12:00Z" or "2026-11-29T12:00:00Z" -> the last form. Another zone is refused: nobody could
// tell later which quarter was meant.
Result<std::string> UtcText(std::string_view text);

// Of texts that UtcText gave.
Quarter QuarterOf(std::string_view utc);
int64_t SecondsBetween(std::string_view from, std::string_view to);

}  // namespace triodrill::ledger
