// Rows as a ledger would hold them, made by hand.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/ledger/rows.h"

namespace triodrill::ledger {

inline Timed After(double seconds) {
  const Nanos at(static_cast<int64_t>(std::llround(seconds * 1e9)));
  return {at, at};
}
inline Timed NotWithin(double seconds) { return {After(seconds).low, std::nullopt}; }

inline TrialRow FaultedTrial(int64_t number, const Timed& detection, const std::string& level = "node") {
  TrialRow trial{.trial = number, .valid = true};
  trial.detection = detection;
  trial.recovery = After(9);
  trial.level = level;
  trial.evicted = trial.collateral = trial.missed = 0;
  trial.undo = "confirmed";
  return trial;
}

// One run with a trial for each detection.
inline RunRow RunAt(int64_t id, const std::string& started, const std::vector<Timed>& detections,
                    const std::string& release = "") {
  RunRow run;
  run.id = id;
  run.run_id = "run-" + std::to_string(id);
  run.plan_digest = "plan";
  run.timeline_head = "head-" + std::to_string(id);
  run.drill = "kill-one-rank";
  run.pipeline = "torchrun";
  run.partition = "sandbox";
  run.release = release;
  run.started = started;
  run.verdict = "PASS";
  run.outcome = "finished";
  run.headline = "PASS kill-one-rank";
  run.undo_confirmed = true;
  run.conditions = "same";
  for (const Timed& detection : detections) {
    run.trials.push_back(FaultedTrial(static_cast<int64_t>(run.trials.size()) + 1, detection));
  }
  return run;
}

inline std::vector<Timed> Seconds(std::initializer_list<double> seconds) {
  std::vector<Timed> times;
  for (const double one : seconds) times.push_back(After(one));
  return times;
}

}  // namespace triodrill::ledger
