// The facts of one trial, sorted by kind and by time. Facts are written when they become known, which is not always the
// order in which they happened: everything that measures goes by instants, never by the order in the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/evidence/timeline.h"
#include "triodrill/time.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

Instant InstantOf(const v1::Fact& fact);

// Certainly before: `a` ended before `b` began.
constexpr bool Precedes(const Instant& a, const Instant& b) { return a.latest < b.earliest; }

// Halfway between the ends: the best single guess, for rates only.
constexpr TimePoint Middle(const Instant& at) { return at.earliest + (at.latest - at.earliest) / 2; }

// What happened to one shot, over the whole run: an undo may be confirmed after its trial has ended.
struct ShotFacts {
  std::string shot;
  int trial = 0;  // 0: no trial knows it
  const v1::Shot* planned = nullptr;
  const v1::Fact* prepared = nullptr;
  const v1::Fact* armed = nullptr;
  const v1::Fact* landed = nullptr;    // the first
  const v1::Fact* failed = nullptr;    // the last
  const v1::Fact* reverted = nullptr;  // the last

  std::string Kind() const;
};

using FactList = std::vector<const v1::Fact*>;

struct TrialFacts {
  int number = 0;
  bool sham = false;
  const v1::PlannedTrial* planned = nullptr;
  const v1::Fact* baseline = nullptr;
  const v1::Fact* ended = nullptr;
  std::vector<const ProgressRow*> progress;  // of the trial, by instant
  const ProgressTable* table = nullptr;      // theirs
  FactList signals;                          // of the trial, by instant
  FactList processes;                        // of the whole run, by instant
  std::vector<ShotFacts> shots;
  Instant last{};  // TrialEnded, or the last that is known of the trial
};

// Trials that began, in running order. The pointers are into `plan` and `timeline`.
std::vector<TrialFacts> SplitTrials(const v1::Plan& plan, const Timeline& timeline);

// Shots that were said to be reverted, and that no trial knows.
std::vector<ShotFacts> StrayShots(const v1::Plan& plan, const Timeline& timeline);

}  // namespace triodrill
