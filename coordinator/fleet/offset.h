// How far a node's clock is from the coordinator's, as bounds that hold, not as a best guess. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"

namespace triodrill::fleet {

// Node clock minus coordinator clock lies in [earliest, latest] at `measured` (a time on the coordinator's clock), and
// in wider bounds the further one goes from there.
struct OffsetBounds {
  Nanos earliest{0};
  Nanos latest{0};
  Nanos min_round_trip{0};  // the quickest exchange since the last restart, without the node's own time
  int exchanges = 0;        // since the last restart
  TimePoint measured;
  int64_t drift_ppb = 0;  // how fast the two clocks may diverge

  constexpr Nanos Width() const { return latest - earliest; }
};

// The same knowledge said for another time: never narrower.
OffsetBounds At(const OffsetBounds& bounds, TimePoint when);

// A node's instant on the coordinator's clock, widened by what is not known of the offset.
Instant ToCoordinator(const OffsetBounds& bounds, const v1::NodeInstant& instant);

// The node's time for a time of the coordinator: the middle of what is possible.
int64_t ToNode(const OffsetBounds& bounds, TimePoint when);

// One exchange. The coordinator stamps before it writes and after it has read, the node after it has read and before it
// writes, so that the true offset cannot lie outside [sent_node - answered, received_node - asked].
struct Exchange {
  TimePoint asked;
  int64_t received_node_ns = 0;
  int64_t sent_node_ns = 0;
  TimePoint answered;
};

// Two machines' clocks, undisciplined, stay well within this.
inline constexpr int64_t kDefaultDriftPpb = 100'000;

// Intersects the bounds of all exchanges, each aged by the drift bound. Not thread-safe.
class OffsetEstimator {
 public:
  explicit OffsetEstimator(int64_t drift_ppb = kDefaultDriftPpb) : drift_ppb_(drift_ppb) {}

  enum class Verdict {
    kTaken,
    kStepped,   // contradicts what was known: a clock was stepped; all before it is forgotten
    kNonsense,  // contradicts itself; ignored
  };
  // Exchanges come in the order of their `answered`.
  Verdict Add(const Exchange& exchange);

  // nullopt before the first exchange.
  std::optional<OffsetBounds> Bounds(TimePoint now) const;

 private:
  int64_t drift_ppb_;
  std::optional<OffsetBounds> known_;
};

}  // namespace triodrill::fleet
