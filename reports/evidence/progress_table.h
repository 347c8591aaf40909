// Nine facts of ten say that somebody made a step. Each is kept as a row of forty bytes, where a message takes ten
// times as much: a long run is as large as what else happened in it. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "triodrill/time.h"

namespace triodrill {

struct ProgressRow {
  int64_t sequence = 0;
  Instant at{};
  int64_t step = 0;
  int32_t trial = 0;
  uint32_t source = 0;  // of the table
};

// Who made steps.
struct ProgressSource {
  uint32_t slot_number = 0;  // of the table
  std::string node;
  int32_t rank = 0;
};

class ProgressTable {
 public:
  // `row.source` is set here.
  void Add(ProgressRow row, std::string_view slot, std::string_view node, int32_t rank);

  const std::vector<ProgressRow>& rows() const { return rows_; }  // as they were added
  const ProgressSource& SourceOf(const ProgressRow& row) const { return sources_[row.source]; }
  const std::string& SlotOf(const ProgressRow& row) const { return slots_[SourceOf(row).slot_number]; }
  const std::vector<std::string>& slots() const { return slots_; }  // by slot_number
  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }

 private:
  uint32_t SlotNumber(std::string_view slot);
  void NewSource(uint32_t slot_number, std::string_view node, int32_t rank);

  std::vector<ProgressRow> rows_;
  std::vector<ProgressSource> sources_;
  std::vector<std::string> slots_;
  std::vector<std::vector<uint32_t>> sources_of_;  // by slot_number: one, seldom more
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

}  // namespace triodrill
