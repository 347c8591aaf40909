#include "coordinator/watch/line_splitter.h"

#include <algorithm>

#include "coordinator/watch/utf8.h"

namespace triodrill::watch {

void LineSplitter::Feed(std::string_view bytes, const Instant& at, std::vector<Line>& lines) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::string_view part = bytes.substr(0, newline);
    const size_t taken = whole ? newline + 1 : bytes.size();
    position_ += static_cast<int64_t>(taken);
    bytes.remove_prefix(taken);
    if (!passing_over_) Keep(part);
    pending_at_ = at;
    if (!whole) return;
    if (!passing_over_) Emit(pending_, pending_cut_, at, lines);
    pending_.clear();
    pending_cut_ = passing_over_ = false;
    line_start_ = position_;
  }
}

void LineSplitter::EndOfFile(std::vector<Line>& lines) {
  if (!pending_.empty()) Emit(pending_, pending_cut_, pending_at_, lines);
  pending_.clear();
  pending_cut_ = passing_over_ = false;
  number_ = line_start_ = position_ = 0;
}

void LineSplitter::BeginAt(int64_t offset, bool within_line) {
  position_ = line_start_ = offset;
  passing_over_ = within_line;
}

// A writer without O_APPEND leaves a hole before its next line when its file is truncated under it. The hole reads as
// NULs, as many as the file was long: no part of the line.
void LineSplitter::Keep(std::string_view bytes) {
  if (pending_.empty()) {
    const size_t text = std::min(bytes.find_first_not_of('\0'), bytes.size());
    line_start_ += static_cast<int64_t>(text);
    bytes.remove_prefix(text);
  }
  const size_t room = kLongest - pending_.size();
  pending_cut_ = pending_cut_ || bytes.size() > room;
  pending_ += bytes.substr(0, room);
}

void LineSplitter::Emit(std::string_view bytes, bool cut, const Instant& at, std::vector<Line>& lines) {
  if (!cut && bytes.ends_with('\r')) bytes.remove_suffix(1);
  // A character that the cut went through would look invalid, though it was not.
  if (cut) bytes = PrefixOfCharacters(bytes, kLongest - 4);
  Line line{.path = path_, .number = ++number_, .offset = line_start_, .text = {}, .at = at};
  line.text = ToUtf8(bytes, counts_.replaced_bytes);
  if (cut) line.text += kCutMarker;
  ++counts_.lines;
  counts_.cut_lines += cut ? 1 : 0;
  lines.push_back(std::move(line));
}

}  // namespace triodrill::watch
