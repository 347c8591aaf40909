#include "reports/ledger/calendar.h"

#include <chrono>
#include <optional>

#include "absl/strings/str_format.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

constexpr size_t kDateLength = 10;  // "2026-11-29"

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes `width` digits off the front.
std::optional<int> Digits(std::string_view& text, size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, width)) {
    if (!IsDigit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return value;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

struct Parts {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

std::optional<Parts> DateOf(std::string_view& text) {
  Parts parts;
  const std::optional<int> year = Digits(text, 4);
  if (!year || !Take(text, '-')) return std::nullopt;
  const std::optional<int> month = Digits(text, 2);
  if (!month || !Take(text, '-')) return std::nullopt;
  const std::optional<int> day = Digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970) return std::nullopt;
  return Parts{.year = *year, .month = *month, .day = *day};
}

std::optional<Parts> Parse(std::string_view text) {
  std::optional<Parts> parts = DateOf(text);
  if (!parts || text.empty()) return parts;
  if (!Take(text, 'T')) return std::nullopt;
  const std::optional<int> hour = Digits(text, 2);
  if (!hour || !Take(text, ':')) return std::nullopt;
  const std::optional<int> minute = Digits(text, 2);
  if (!minute) return std::nullopt;
  const std::optional<int> second = Take(text, ':') ? Digits(text, 2) : std::optional(0);
  if (!second || text != "Z" || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  parts->hour = *hour;
  parts->minute = *minute;
  parts->second = *second;
  return parts;
}

std::chrono::sys_seconds InstantOf(std::string_view utc) {
  const Parts parts = Parse(utc).value_or(Parts{.year = 1970, .month = 1, .day = 1});
  const std::chrono::sys_days day =
      std::chrono::year_month_day(std::chrono::year(parts.year), std::chrono::month(static_cast<unsigned>(parts.month)),
                                  std::chrono::day(static_cast<unsigned>(parts.day)));
  return day + std::chrono::hours(parts.hour) + std::chrono::minutes(parts.minute) + std::chrono::seconds(parts.second);
}

}  // namespace

Result<Quarter> ParseQuarter(std::string_view text) {
  std::string_view rest = text;
  const std::optional<int> year = Digits(rest, 4);
  const bool q = year && Take(rest, 'Q');
  const std::optional<int> number = q ? Digits(rest, 1) : std::nullopt;
  if (!number || !rest.empty() || *number < 1 || *number > 4 || *year < 1970) {
    return absl::InvalidArgumentError(Cat("quarter \"", text, "\": a year and a quarter, as in 2026Q4"));
  }
  return Quarter{*year, *number};
}

std::string QuarterName(const Quarter& quarter) { return absl::StrFormat("%04dQ%d", quarter.year, quarter.number); }

Quarter Before(const Quarter& quarter) {
  return quarter.number == 1 ? Quarter{quarter.year - 1, 4} : Quarter{quarter.year, quarter.number - 1};
}

Result<std::string> UtcText(std::string_view text) {
  const std::optional<Parts> parts = Parse(text);
  if (!parts) {
    return absl::InvalidArgumentError(
        Cat("time \"", text, "\": a date or a time in UTC, as in 2026-11-29 or 2026-11-29T12:00:00Z"));
  }
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", parts->year, parts->month, parts->day, parts->hour,
                         parts->minute, parts->second);
}

Quarter QuarterOf(std::string_view utc) {
  std::string_view date = utc.substr(0, kDateLength);
  const Parts parts = DateOf(date).value_or(Parts{.year = 1970, .month = 1, .day = 1});
  return {parts.year, (parts.month + 2) / 3};
}

int64_t SecondsBetween(std::string_view from, std::string_view to) { return (InstantOf(to) - InstantOf(from)).count(); }

}  // namespace triodrill::ledger
