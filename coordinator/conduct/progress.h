// The job's progress as the conductor needs it: is the baseline steady, has the job come back? A job-level step counts
// when the first slot reports it. Pure values; the figures of a report are not taken from here but measured from the
// saved timeline.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "triodrill/time.h"

namespace triodrill::conduct {

struct Steadiness {
  int steps = 20;           // the baseline must hold this many
  Nanos at_least{};         // and this long
  double theta = 0.95;      // share of the baseline's rate that counts as recovered
  double tolerance = 0.25;  // how far the two halves of a steady window may differ in rate
};

struct Baseline {
  double steps_per_s = 0;
  int64_t high_water = 0;
  int steps = 0;
  Nanos window{};
  std::vector<std::string> serving;  // slots that made progress in the window
};

class ProgressTrack {
 public:
  // A slot finished a step. A slot whose step goes back has been restarted: the window begins anew.
  void Add(const std::string& slot, int64_t step, TimePoint at);

  // Forgets everything: a new window.
  void Clear();

  int64_t high_water() const { return high_water_; }
  std::optional<TimePoint> last() const;

  // The baseline, once the window is long enough, its halves agree, and as many slots as `serving` are in it: which
  // ones is the pipeline's to say, where it has spares.
  std::optional<Baseline> Steady(const Steadiness& wanted, size_t serving) const;

  // Whether the newest window (10 steps or 5 s, the longer) lies wholly after `since`, past `above`, and is fast
  // enough.
  bool Recovered(TimePoint since, int64_t above, double rate) const;

 private:
  struct Point {
    TimePoint at;
    int64_t step;
  };
  std::deque<Point> points_;            // job-level, one incarnation
  std::map<std::string, Point> slots_;  // newest of each slot
  int64_t high_water_ = -1;
};

}  // namespace triodrill::conduct
