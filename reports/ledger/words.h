// A ledger's figures as people and as machines read them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "reports/ledger/rows.h"
#include "reports/ledger/trend.h"

namespace triodrill::ledger {

inline constexpr size_t kLongestText = 1000;

// "1.220~1.227 s", "at least 60.000 s"; "2 slots", "1~3 slots". Rounding never narrows it.
std::string RangeText(const Range& range, std::string_view unit);
// "1.220~1.227 s (10 trials, 1 censored)", "open (4 trials, 4 censored)", "none".
std::string FigureText(const Figure& figure, std::string_view unit);
std::string TimedText(const std::optional<Timed>& time);  // "not within 60.000 s"; "" if there is none
std::string ShareText(const Share& share);                // "2 of 3 (9.4%~99.2%)"
std::string LevelText(const LevelFigure& level);          // of one run: "node at worst (10 trials, 1 unknown)"
std::string ReleaseText(std::string_view release);        // "release 2.1", "no release named"
std::string Padded(std::string text, size_t width);

nlohmann::ordered_json TreeOf(const std::optional<Range>& range);
nlohmann::ordered_json TreeOf(const Figure& figure);
nlohmann::ordered_json TreeOf(const std::optional<Timed>& time);
nlohmann::ordered_json TreeOf(const Share& share);
nlohmann::ordered_json TreeOf(const LevelFigure& level);
nlohmann::ordered_json TreeOf(const IncidentRow& incident);
nlohmann::ordered_json SdcEntries(const LedgerRows& rows);  // sdc_text.cc

}  // namespace triodrill::ledger
