// What the measured means against what was expected. Values only; verdict.json mirrors them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/exit_code.h"

namespace triodrill {

// In rising order of weight: the worst of several is the greatest.
enum class Answer { kPass = 0, kInconclusive = 1, kFail = 2 };

struct TrialAnswer {
  int trial = 0;
  Answer answer = Answer::kInconclusive;
  std::string reason;  // with the numbers
};

struct Objective {
  std::string name;      // as in the drill: "detection_latency", "isolation.at_most", "coverage.detect"
  std::string expected;  // "at most 10 s"
  Answer answer = Answer::kInconclusive;
  std::string reason;  // of the trials that decided it
  int n = 0;           // trials that it was asked of
  int passed = 0;
  std::optional<double> assurance;  // n of n passed: P(pass) is at least this, with 95% confidence
  std::vector<TrialAnswer> trials;
};

// How far the run came.
enum class RunOutcome { kFinished, kAborted, kRefused, kBroken, kIncomplete };

struct Verdict {
  std::string drill;
  Answer answer = Answer::kInconclusive;
  RunOutcome outcome = RunOutcome::kIncomplete;
  bool undo_confirmed = false;  // nothing is left broken
  ExitCode exit_code = ExitCode::kInconclusive;
  std::string headline;  // the first line of every report: it decides
  std::vector<std::string> blockers;
  std::vector<Objective> objectives;
};

std::string Name(Answer answer);       // "PASS", "FAIL", "INCONCLUSIVE"
std::string Name(RunOutcome outcome);  // "finished", …

}  // namespace triodrill
