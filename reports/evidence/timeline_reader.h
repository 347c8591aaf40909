// Reads a timeline in pieces of any size, so that a file of any size is checked and digested in one pass. Holds the
// facts and one line of text. The rules are those of ParseTimeline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reports/evidence/timeline.h"

namespace triodrill {

class TimelineReader {
 public:
  TimelineReader();
  Status Add(std::string_view piece);  // after an error: no more calls
  Result<Timeline> Finish();           // once
  // SHA-256 of the last whole line: vouches for all before it. "" if there is none.
  std::string head() const { return number_ > 0 ? previous_ : std::string(); }

 private:
  Status Line(std::string_view line);

  Timeline timeline_;
  std::string cut_;  // what came of the line that is not over
  std::string previous_;
  std::string json_;  // of the line that is read, its room used again
  int64_t number_ = 0;
};

}  // namespace triodrill
