// The job's progress: its step sequence, its stalls, and the window in which it is steady again. Pure.
//
// A step counts for the job when the first slot reports it. When a slot reports a step that it had reported before, it
// has gone back to a checkpoint: a new epoch begins, in which steps are counted anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/measure/trial_facts.h"
#include "triodrill/time.h"

namespace triodrill {

struct StepSeen {
  int64_t step = 0;
  Instant at{};
  int epoch = 0;
};

struct SlotStep {
  int64_t step = 0;
  Instant at{};
  bool again = false;  // the slot had reported this step or a later one before
};

struct JobProgress {
  std::vector<StepSeen> steps;                         // of the job, strictly rising within an epoch
  std::map<std::string, std::vector<SlotStep>> slots;  // of each slot, by instant
  std::vector<SlotStep> all;                           // of any slot, by instant
};

JobProgress FollowProgress(const TrialFacts& facts);

// What steady means in one trial.
struct Steadiness {
  int64_t high_water = 0;  // steps beyond this one count
  double steps_per_s = 0;  // of the baseline
  double theta = 0.95;
  std::vector<Instant> disturbances;  // a process ended or appeared, a checkpoint was loaded: not within a window
  std::vector<Instant> barriers;      // a held fault was withdrawn: no window lies on both sides
  std::optional<TimePoint> from;      // no window begins before
  TimePoint end{};                    // of the observation

  // Without progress for longer than this, a slot has stopped.
  Nanos StallLimit() const;
};

struct Window {
  Instant start{};
  Instant end{};
};

struct SteadySearch {
  std::optional<Window> found;       // the first
  std::optional<Instant> open_from;  // none was found, but one that began here was cut off by the end of the trial
};

// The first window of 10 steps or 5 s, the longer, past the high-water step, at a rate of theta of the baseline or
// more.
SteadySearch FindSteady(const JobProgress& job, const Steadiness& steadiness);

// Every window that begins past the high-water step and before `until` keeps the rate; the first one must be whole.
bool NeverSlowed(const JobProgress& job, const Steadiness& steadiness, std::optional<Instant> until);

}  // namespace triodrill
