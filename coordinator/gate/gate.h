// The safety gate: may this trial be fired, now? It denies whatever it cannot evaluate. Pure: it is told what was seen,
// and a thing that could not be seen is told as absent, which is a no.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/gate/approvals.h"
#include "coordinator/gate/permit.h"
#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"
#include "triodrill/v1/plan.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::gate {

// What a check needs to know of one node. An optional that is empty could not be seen.
struct NodeSight {
  std::optional<v1::Hello> hello;                  // its agent is attached and said this
  std::optional<std::vector<v1::OpenFault>> open;  // undo records that the node still holds
  std::optional<Nanos> clock_uncertainty;          // width of the offset's interval
};

struct Situation {
  const v1::Plan* plan = nullptr;
  std::string plan_digest;
  int trial = 0;                                 // number in the plan
  std::map<std::string, NodeSight> nodes;        // every node of the partition
  std::optional<std::vector<Resolved>> targets;  // one for each shot of the trial
  Approvals approvals;
  std::optional<bool> exclusive;  // this run holds the partition's lock
  std::optional<bool> watchers_healthy;
  std::optional<bool> baseline_steady;
  std::optional<Nanos> quiet;                 // since the pipeline's last report
  std::optional<std::string> digest_on_disk;  // of plan.json in the bundle
};

struct Decision {
  std::vector<v1::Check> checks;  // all of them, also those that passed
  std::optional<Permit> permit;   // there only if every check passed
};

class Gate {
 public:
  static Decision Evaluate(const Situation& situation);

  // The checks that need no node and no job: what `triodrill plan` can show beforehand.
  static std::vector<v1::Check> Beforehand(const v1::Plan& plan);
};

}  // namespace triodrill::gate
