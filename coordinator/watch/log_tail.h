// The follower without its thread: each Tick() is one look. One thread; owned by LogFollower (or a test).
//
// A file stays open while it is followed, so what a writer still adds to a rotated or deleted file is read. It is let
// go once its path names another file that has bytes in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/line.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

struct TailOptions {
  bool from_start = true;                      // of a file that exists when following begins; false: from its end
  Nanos scan_every = std::chrono::seconds(1);  // every file is looked at without waiting for an event
  int64_t bytes_per_look = 1 << 20;            // of one file, so that one cannot starve the others
};

struct TailHealth {
  int64_t lines = 0;
  int64_t cut_lines = 0;       // longer than 64 KiB
  int64_t replaced_bytes = 0;  // not UTF-8
  int64_t switches = 0;        // a path came to name another file
  int64_t truncations = 0;
  int64_t overflows = 0;    // of the inotify queue
  int64_t unannounced = 0;  // bytes that a scan found and inotify had not announced
  int files_open = 0;
  std::vector<std::string> problems;  // "open /x: Permission denied", one for each path concerned
};

class LogTail {
 public:
  static Result<std::unique_ptr<LogTail>> Open(std::vector<std::string> paths, TailOptions options, Clock& clock);
  virtual ~LogTail() = default;

  // Everything that became readable since the last look.
  virtual std::vector<Line> Tick() = 0;

  // Every line whose write had returned by then has been returned by Tick().
  virtual TimePoint CaughtUpTo() const = 0;
  virtual TailHealth Health() const = 0;
};

}  // namespace triodrill::watch
