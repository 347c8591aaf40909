// What is new in Slurm's answers, look by look. Pure.
//
// A change lies between the beginning of the last look that did not show it and the moment at which this look's answer
// was there: Slurm answered both out of its memory while they were under way. What the very first look shows was so
// before anybody watched: it is none. A look without an answer changes nothing but the next interval.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/watch/firing.h"
#include "coordinator/watch/slurm_states.h"
#include "triodrill/time.h"

namespace triodrill::watch {

struct SlurmChange {
  enum class Kind { kNodeState, kJobState, kJobChange };
  Kind kind = Kind::kNodeState;
  // kNodeState: node, state, reason. kJobState: job, name, state, reason, nodes, restarts. kJobChange: the same and
  // change (requeued, joined, left), with node for the last two.
  Labels labels;
  // State and reason at the look before; both "" if it was not there then. Not for kJobChange.
  std::string was;
  std::string was_reason;
  Instant at;
};

class SlurmNodeLooks {
 public:
  std::vector<SlurmChange> Take(const Instant& asked, const std::vector<SlurmNode>& nodes);

 private:
  std::optional<TimePoint> last_begun_;
  std::map<std::string, SlurmNode> last_;
};

// A job's nodes are compared from one look at which it runs to the next: while it is being ended Slurm takes them off
// its list one after the other, and one that waits has none.
class SlurmJobLooks {
 public:
  std::vector<SlurmChange> Take(const Instant& asked, const std::vector<SlurmJob>& jobs);

 private:
  struct Known {
    SlurmJob job;
    std::vector<std::string> ran_on;  // sorted; empty if it was never seen running
  };

  std::optional<TimePoint> last_begun_;
  std::map<int64_t, Known> last_;
};

}  // namespace triodrill::watch
