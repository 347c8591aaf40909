// One followed path: the file that is read, those held behind it since the path was given to another file, and up to
// when nothing unread was in them. Effects: open, fstat, pread. Owned by LogTail, on its thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/watch/line_splitter.h"
#include "coordinator/watch/rotation.h"
#include "coordinator/watch/unique_fd.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

class FollowedFile {
 public:
  // How an open file comes to be announced by inotify: given /proc/self/fd/N, so that it is the file itself and not
  // what its path names by now. The number of the watch, or why there is none.
  struct Announcer {
    std::function<Result<int>(const std::string& path, FollowedFile* file)> watch;
    std::function<void(int watch, FollowedFile* file)> unwatch;
  };

  FollowedFile(int index, std::string path, Announcer announcer);
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  // Opens what the path names now, if that is not open yet.
  void LookUp(Clock& clock);

  // Called once, after the first LookUp: what is open now is read from its start, with no lower bound on when it was
  // written, or from its end.
  void Begin(Clock& clock, bool from_start);

  // Reads up to `most` bytes. `quiet`: whatever was written before that had been announced, and read unless behind().
  void Read(Clock& clock, TimePoint quiet, int64_t most, std::vector<char>& buffer, std::vector<Line>& lines);

  // Whether there is something to read, by size alone.
  bool HasGrown() const;

  // The last LookUp was followed by a look that found nothing to read.
  void NothingNew() { known_to_ = std::max(known_to_, looked_up_at_); }

  // Whether its events stand for its changes: the directory and every open file are watched, and no scan ever found
  // bytes without an event. Otherwise its own last look bounds it, which must be LookUp and then Read or NothingNew.
  bool announced() const { return directory_watched_ && watched_ && !distrusted_; }
  void SetDirectoryWatched(bool watched) { directory_watched_ = watched; }
  void Distrust() { distrusted_ = true; }

  bool behind() const { return behind_; }           // the last Read stopped at `most`
  TimePoint known_to() const { return known_to_; }  // while behind or not announced: everything written before was read
  void KnowTo(TimePoint point) { known_to_ = point; }

  int index() const { return index_; }
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }  // "" = none
  bool is_open() const { return !open_.empty(); }
  bool vanished() const { return is_open() && !named_; }  // held, while its path names nothing
  int64_t switches() const { return switches_; }
  int64_t truncations() const { return truncations_; }
  const LineSplitter::Counts& counts() const { return splitter_.counts(); }

 private:
  struct OpenFile {
    UniqueFd fd;
    FileId id;
    int watch = -1;
    int64_t offset = 0;
    std::string remembered;  // the last bytes before the offset, at most kRemembered
  };
  enum class Outcome { kEnd, kMore, kTruncated };

  Result<std::optional<OpenFile>> OpenNamed() const;
  void Hold(OpenFile file);
  bool SwitchIfReplaced(std::vector<Line>& lines);
  Outcome ReadOnce(Clock& clock, TimePoint lower, std::vector<char>& buffer, std::vector<Line>& lines, int64_t& most);
  void StartOver(std::vector<Line>& lines);

  const int index_;
  const std::string path_;
  const Announcer announcer_;
  LineSplitter splitter_;
  std::deque<OpenFile> open_;  // the one being read, then those held behind it
  bool directory_watched_ = false;
  bool watched_ = true;
  bool distrusted_ = false;
  bool named_ = false;
  bool behind_ = false;
  TimePoint known_to_{};
  TimePoint looked_up_at_{};
  std::string problem_;
  int64_t switches_ = 0;
  int64_t truncations_ = 0;
};

}  // namespace triodrill::watch
