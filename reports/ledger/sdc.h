// What the ledger says of silent data corruption: each entry with how often it was so, and what became of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/ledger/rows.h"
#include "reports/ledger/trend.h"

namespace triodrill::ledger {

inline constexpr std::string_view kDispositions[] = {"injected", "suspect", "cleared", "retired", "unknown"};

struct SdcView {
  const RunRow* run = nullptr;
  const SdcRow* row = nullptr;
  std::string disposition;                     // the last word, or what follows from the entry itself
  std::vector<const DispositionRow*> history;  // oldest first
  // Injected: caught of the trials with this change of this slot, but for those without an effect (masked). Suspect:
  // trials in which this slot was named of those in which it had a part. By pipeline and partition; valid trials only.
  Share frequency;
};
std::vector<SdcView> ViewSdc(const LedgerRows& rows);  // by id

// All slots together.
struct SdcSummary {
  std::string pipeline, changed;
  int64_t detected = 0, masked = 0, missed = 0, not_valid = 0;  // entries
  Share share;                                                  // detected of detected and missed
};
std::vector<SdcSummary> SummariseSdc(const LedgerRows& rows);

}  // namespace triodrill::ledger
