#include "reports/measure/trial_facts.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace triodrill {
namespace {

auto Order(const v1::Fact& fact) { return std::tuple(fact.at().latest_ns(), fact.at().earliest_ns(), fact.sequence()); }

auto Order(const ProgressRow& row) { return std::tuple(row.at.latest, row.at.earliest, row.sequence); }

template <typename Said>
void SortByInstant(std::vector<const Said*>& said) {
  std::stable_sort(said.begin(), said.end(), [](const Said* a, const Said* b) { return Order(*a) < Order(*b); });
}

const std::string* ShotOf(const v1::Fact& fact) {
  switch (fact.what_case()) {
    case v1::Fact::kPrepared:
      return &fact.prepared().shot();
    case v1::Fact::kArmed:
      return &fact.armed().shot();
    case v1::Fact::kLanded:
      return &fact.landed().shot();
    case v1::Fact::kFailed:
      return &fact.failed().shot();
    case v1::Fact::kReverted:
      return &fact.reverted().shot();
    default:
      return nullptr;
  }
}

void NoteShot(const v1::Fact& fact, ShotFacts& shot) {
  switch (fact.what_case()) {
    case v1::Fact::kPrepared:
      shot.prepared = &fact;
      break;
    case v1::Fact::kArmed:
      shot.armed = &fact;
      break;
    case v1::Fact::kLanded:
      if (shot.landed == nullptr || fact.at().earliest_ns() < shot.landed->at().earliest_ns()) shot.landed = &fact;
      break;
    case v1::Fact::kFailed:
      shot.failed = &fact;
      break;
    case v1::Fact::kReverted:
      shot.reverted = &fact;
      break;
    default:
      break;
  }
  if (shot.trial == 0 && !fact.has_reverted()) shot.trial = fact.trial();
}

// Every shot of the plan and of the facts, by name.
std::map<std::string, ShotFacts> CollectShots(const v1::Plan& plan, const Timeline& timeline) {
  std::map<std::string, ShotFacts> shots;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    for (const v1::Shot& shot : trial.shots()) {
      const std::string name = absl::StrCat(trial.number(), ".", shot.fault_id(), ".", shot.index());
      ShotFacts& entry = shots[name];
      entry.shot = name;
      entry.trial = trial.number();
      entry.planned = &shot;
    }
  }
  for (const v1::Fact& fact : timeline.facts) {
    const std::string* name = ShotOf(fact);
    if (name == nullptr) continue;
    // A drill without faults has trials that begin with a landing of no shot.
    ShotFacts& entry = shots[name->empty() ? absl::StrCat("trial ", fact.trial()) : *name];
    entry.shot = *name;
    NoteShot(fact, entry);
  }
  return shots;
}

const v1::PlannedTrial* FindPlanned(const v1::Plan& plan, int number) {
  for (const v1::PlannedTrial& trial : plan.trials()) {
    if (trial.number() == number) return &trial;
  }
  return nullptr;
}

void NoteInstant(const Instant& at, TrialFacts& trial) {
  if (at.latest > trial.last.latest) trial.last = at;
}

void NoteFact(const v1::Fact& fact, TrialFacts& trial) {
  switch (fact.what_case()) {
    case v1::Fact::kBaseline:
      trial.baseline = &fact;
      break;
    case v1::Fact::kSignal:
      trial.signals.push_back(&fact);
      break;
    case v1::Fact::kTrialEnded:
      trial.ended = &fact;
      break;
    default:
      break;
  }
  NoteInstant(InstantOf(fact), trial);
}

}  // namespace

Instant InstantOf(const v1::Fact& fact) { return ToInstant(fact.at()); }

std::string ShotFacts::Kind() const {
  if (prepared != nullptr && !prepared->prepared().kind().empty()) return prepared->prepared().kind();
  return planned != nullptr ? planned->kind() : "";
}

std::vector<TrialFacts> SplitTrials(const v1::Plan& plan, const Timeline& timeline) {
  std::vector<TrialFacts> trials;
  std::map<int, size_t> place;
  for (const v1::Fact& fact : timeline.facts) {
    if (!fact.has_trial_started() || place.contains(fact.trial())) continue;
    place[fact.trial()] = trials.size();
    TrialFacts trial;
    trial.number = fact.trial();
    trial.sham = fact.trial_started().sham();
    trial.planned = FindPlanned(plan, fact.trial());
    trial.table = &timeline.progress;
    trial.last = InstantOf(fact);
    trials.push_back(std::move(trial));
  }
  for (const v1::Fact& fact : timeline.facts) {
    if (const auto found = place.find(fact.trial()); found != place.end()) NoteFact(fact, trials[found->second]);
    if (!fact.has_process()) continue;
    for (TrialFacts& trial : trials) trial.processes.push_back(&fact);  // who lives at t0 may have appeared long before
  }
  for (const ProgressRow& row : timeline.progress.rows()) {
    const auto found = place.find(row.trial);
    if (found == place.end()) continue;
    trials[found->second].progress.push_back(&row);
    NoteInstant(row.at, trials[found->second]);
  }
  for (const auto& [name, shot] : CollectShots(plan, timeline)) {
    if (const auto found = place.find(shot.trial); found != place.end()) trials[found->second].shots.push_back(shot);
  }
  for (TrialFacts& trial : trials) {
    if (trial.ended != nullptr) trial.last = InstantOf(*trial.ended);
    for (FactList* list : {&trial.signals, &trial.processes}) SortByInstant(*list);
    SortByInstant(trial.progress);
  }
  return trials;
}

std::vector<ShotFacts> StrayShots(const v1::Plan& plan, const Timeline& timeline) {
  std::vector<ShotFacts> stray;
  for (const auto& [name, shot] : CollectShots(plan, timeline)) {
    if (shot.trial == 0 && shot.reverted != nullptr) stray.push_back(shot);
  }
  return stray;
}

}  // namespace triodrill
