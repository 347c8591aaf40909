// One line of a followed file, as an observation: what it says and when it was written.
#pragma once

#include <cstdint>
#include <string>

#include "triodrill/time.h"

namespace triodrill::watch {

struct Line {
  std::string path;    // as it was asked for
  int64_t number = 0;  // from 1, counted from where following this file began (1 = its first line if from the start)
  int64_t offset = 0;  // bytes of the file before the line: exact however following began
  std::string text;    // valid UTF-8, without the line's end; cut lines end with kCutMarker
  // Holds a moment at which the write of the line's last bytes was under way.
  Instant at;
};

inline constexpr char kCutMarker[] = " [cut]";

}  // namespace triodrill::watch
