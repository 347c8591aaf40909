// What the picture of one trial shows: who worked when, what was broken for how long, and when the pipeline did what.
// Values in time since t0, the verified onset, so that what came before is negative. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/measure/trial_facts.h"
#include "reports/measure/trio.h"
#include "triodrill/time.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Since t0; of an event the earliest and the latest at which it can have been.
struct Stretch {
  Nanos from;
  Nanos to;
  friend constexpr bool operator==(const Stretch&, const Stretch&) = default;
};

struct Milestone {
  std::string name;  // "detected"
  Stretch at;
};

// One slot of the partition.
struct Lane {
  std::string slot;
  std::vector<Stretch> working;  // steps came, none later than three of the baseline's after the one before
  std::vector<Stretch> faulted;  // from the earliest at which the fault can have landed until it was seen gone
  std::vector<Stretch> ended;    // a rank process was gone
  std::vector<Stretch> appeared;
};

// Steps a second, of the slot that made most in each equal part of the picture.
struct Rate {
  Nanos width{0};
  std::vector<double> steps_per_s;  // the first part begins where the picture does
};

struct TrialLanes {
  Stretch shown{};  // from where to where the picture goes: what comes after the last thing of interest is left out
  std::vector<Lane> lanes;
  std::vector<Milestone> milestones;  // by the middle of their instants
  Rate rate;
  double baseline_steps_per_s = 0;
};

// nullopt if nothing landed: there is no t0 to count from.
std::optional<TrialLanes> LanesOf(const v1::Plan& plan, const TrialFacts& facts, const TrialTrio& trial);

}  // namespace triodrill
