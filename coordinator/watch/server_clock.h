// Another machine's wall clock, measured against ours while it is asked other things. Pure.
//
// It was read between our question and our answer, so its offset lies in [said - answered, said - asked], whatever the
// delays were. All exchanges are intersected, each widened by its age times the fastest that a kernel slews a clock
// (500 ppm). An empty intersection means that the clock was stepped: all before it is forgotten. So a clock that is an
// hour off is as good as any other, and what its owner claims is only as good as what was measured of it.
#pragma once

#include <optional>

#include "triodrill/time.h"

namespace triodrill::watch {

class ServerClock {
 public:
  // The server's clock, read somewhere in `asked` of ours, showed a time in [from, to] since 1970.
  void Take(const Instant& asked, Nanos from, Nanos to);

  // Where on our clock the server's clock showed `wall`, as seen from `now`; nothing if it was never measured.
  std::optional<Instant> Map(Nanos wall, TimePoint now) const;

 private:
  struct Offset {  // server's time minus ours
    Nanos least{};
    Nanos most{};
    TimePoint at;
  };
  static Offset Aged(const Offset& offset, TimePoint now);
  std::optional<Offset> offset_;
};

}  // namespace triodrill::watch
