#include "reports/evidence/progress_table.h"

namespace triodrill {

void ProgressTable::Add(ProgressRow row, std::string_view slot, std::string_view node, int32_t rank) {
  const uint32_t number = SlotNumber(slot);
  const std::vector<uint32_t>& known = sources_of_[number];
  row.source = static_cast<uint32_t>(sources_.size());
  for (const uint32_t source : known) {
    if (sources_[source].rank == rank && sources_[source].node == node) row.source = source;
  }
  if (row.source == sources_.size()) NewSource(number, node, rank);
  rows_.push_back(row);
}

uint32_t ProgressTable::SlotNumber(std::string_view slot) {
  const auto known = numbers_.find(absl::string_view(slot.data(), slot.size()));
  if (known != numbers_.end()) return known->second;
  const auto number = static_cast<uint32_t>(slots_.size());
  slots_.emplace_back(slot);
  sources_of_.emplace_back();
  numbers_.emplace(slots_.back(), number);
  return number;
}

void ProgressTable::NewSource(uint32_t slot_number, std::string_view node, int32_t rank) {
  sources_of_[slot_number].push_back(static_cast<uint32_t>(sources_.size()));
  sources_.push_back({slot_number, std::string(node), rank});
}

}  // namespace triodrill
