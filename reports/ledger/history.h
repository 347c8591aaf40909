// Runs and incidents side by side, and the entries of silent data corruption, as text and JSON; and everything, as CSV
// and JSON. What others wrote is escaped: no text can move the cursor, be markup, or be a formula. Pure.
#pragma once

#include <optional>
#include <string>

#include "reports/ledger/calendar.h"
#include "reports/ledger/rows.h"

namespace triodrill::ledger {

// "" and no quarter: all.
struct HistoryFilter {
  std::optional<Quarter> quarter;
  std::string drill;
  std::string pipeline;
};

// Those that pass; suspects and words about them stay with their runs.
LedgerRows Filtered(LedgerRows rows, const HistoryFilter& filter);

std::string HistoryText(const LedgerRows& rows);
std::string HistoryJson(const LedgerRows& rows);

std::string SdcText(const LedgerRows& rows);
std::string SdcJson(const LedgerRows& rows);

// One table: the first column says which of the ledger's tables a row is of, each row fills its own columns. RFC 4180,
// with one exception: a text that a spreadsheet would take for a formula gets an apostrophe in front.
std::string ExportCsv(const LedgerRows& rows);
std::string ExportJson(const LedgerRows& rows);

}  // namespace triodrill::ledger
