// The kernel's queue of file events. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/watch/unique_fd.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

struct FileEvent {
  int watch = -1;
  uint32_t mask = 0;
  std::string name;  // within a watched directory
};

class Inotify {
 public:
  static Result<Inotify> Open();

  // The watch's number. One inode has one watch: asking again gives the same number.
  Result<int> Watch(const std::string& path, uint32_t mask);
  void Unwatch(int watch);

  struct Drained {
    std::vector<FileEvent> events;
    bool overflowed = false;  // events were lost
    bool emptied = false;     // the last read found the queue empty …
    TimePoint empty_at;       // … and this is the clock just before it
    Status status;
  };
  // Does not wait.
  Drained Drain(Clock& clock);

 private:
  explicit Inotify(UniqueFd fd) : fd_(std::move(fd)), buffer_(64 * 1024) {}
  UniqueFd fd_;
  std::vector<char> buffer_;
};

}  // namespace triodrill::watch
