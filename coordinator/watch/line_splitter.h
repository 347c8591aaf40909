// Bytes of one file into lines. Pure. A line is finished by its newline, and its instant is that of the read which
// brought the newline, whenever the line's first bytes came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/watch/line.h"

namespace triodrill::watch {

class LineSplitter {
 public:
  static constexpr size_t kLongest = 64 * 1024;  // bytes of a line that are kept

  struct Counts {
    int64_t lines = 0;
    int64_t cut_lines = 0;
    int64_t replaced_bytes = 0;
  };

  explicit LineSplitter(std::string path) : path_(std::move(path)) {}

  // `bytes` follow those fed before and were written at `at`. Appends finished lines.
  void Feed(std::string_view bytes, const Instant& at, std::vector<Line>& lines);

  // The file has ended (it was replaced or truncated): a line without its newline is finished too. What is fed next is
  // the beginning of a file.
  void EndOfFile(std::vector<Line>& lines);

  // Begin in the middle of a file, `offset` bytes in; if that is within a line, the rest of that line is passed over.
  void BeginAt(int64_t offset, bool within_line);

  const Counts& counts() const { return counts_; }

 private:
  void Keep(std::string_view bytes);
  void Emit(std::string_view bytes, bool cut, const Instant& at, std::vector<Line>& lines);

  const std::string path_;
  std::string pending_;  // the beginning of a line whose newline has not come; at most kLongest bytes
  Instant pending_at_{};
  bool pending_cut_ = false;
  bool passing_over_ = false;
  int64_t number_ = 0;      // of the last line
  int64_t line_start_ = 0;  // offset of the line being read
  int64_t position_ = 0;    // offset of the next byte
  Counts counts_;
};

}  // namespace triodrill::watch
