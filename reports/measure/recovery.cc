#include "reports/measure/recovery.h"

#include <algorithm>
#include <map>

#include "reports/measure/signals.h"

namespace triodrill {
namespace {

std::vector<std::string> Listed(const SlotSet& slots) { return {slots.begin(), slots.end()}; }

double Share(size_t part, size_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

Nanos SinceOnset(const Onset& onset, TimePoint at) { return std::max(Nanos(0), Nanos(at - onset.t0.latest)); }

// Steps that may have been made before t0: of a step that straddles it, nobody can say.
int64_t HighWater(const JobProgress& job, const TrialFacts& facts, const Onset& onset) {
  int64_t highest = facts.baseline->baseline().high_water_step();
  for (const SlotStep& step : job.all) {
    if (step.at.earliest <= onset.t0.latest) highest = std::max(highest, step.step);
  }
  return highest;
}

Steadiness SteadinessOf(const TrialFacts& facts, const Onset& onset, double theta, int64_t high_water) {
  Steadiness steadiness;
  steadiness.high_water = high_water;
  steadiness.steps_per_s = facts.baseline->baseline().steps_per_s();
  steadiness.theta = theta;
  steadiness.barriers = onset.barriers;
  steadiness.end = facts.last.latest;
  for (const v1::Fact* fact : facts.processes) {
    if (!Precedes(InstantOf(*fact), onset.t0)) steadiness.disturbances.push_back(InstantOf(*fact));
  }
  for (const v1::Fact* fact : facts.signals) {
    if (fact->signal().means() == v1::RESTORED && !Precedes(InstantOf(*fact), onset.t0)) {
      steadiness.disturbances.push_back(InstantOf(*fact));
    }
  }
  return steadiness;
}

Delay RecoveryDelay(const Onset& onset, const SteadySearch& search, Nanos deadline, TrialTrio& trial) {
  Delay delay{.seen = std::nullopt, .censored_at = deadline, .why_censored = "not steady again before the deadline"};
  const auto censor = [&](Nanos at, const char* why) {
    if (at >= delay.censored_at) return;
    delay.censored_at = at;
    delay.why_censored = why;
  };
  if (!search.found) {
    censor(trial.observed.min, "not steady again before the trial ended");
    if (search.open_from) {
      censor(SinceOnset(onset, search.open_from->earliest), "the trial ended before it could be seen to be steady");
    }
    return delay;
  }
  const Instant& start = search.found->start;
  if (onset.forced && !trial.not_interrupted && start.latest > onset.forced->earliest) {
    trial.steady_after_withdrawal = Between(*onset.forced, start);
    censor(Between(onset.t0, *onset.forced).min, "not steady again before the fault was withdrawn");
    return delay;
  }
  const Span span = Between(onset.t0, start);
  if (span.min <= deadline) return {.seen = span, .censored_at = Nanos(0), .why_censored = ""};
  return delay;
}

// When the slot stopped making progress for longer than the limit: the first time after the onset and before `horizon`.
std::optional<TimePoint> StallOf(const std::vector<SlotStep>& steps, const Onset& onset, TimePoint horizon,
                                 TimePoint end, Nanos limit) {
  TimePoint last = onset.t0.latest;
  for (const SlotStep& step : steps) {
    if (step.at.latest <= onset.t0.latest) continue;
    if (last >= horizon) return std::nullopt;
    if (step.at.earliest - last > limit) return last;
    last = std::max(last, step.at.latest);
  }
  if (last < horizon && end - last > limit) return last;
  return std::nullopt;
}

// Which slots of the job stopped or restarted between t0 and the horizon, and since when.
std::map<std::string, TimePoint> Interrupted(const TrialFacts& facts, const Onset& onset, const JobProgress& job,
                                             TimePoint horizon, Nanos limit, const TrialTrio& trial) {
  const SlotSet members(trial.members.begin(), trial.members.end());
  std::map<std::string, TimePoint> interrupted;
  const auto note = [&](const std::string& slot, TimePoint since) {
    if (!members.contains(slot)) return;
    const auto [entry, fresh] = interrupted.emplace(slot, since);
    if (!fresh) entry->second = std::min(entry->second, since);
  };
  for (const v1::Fact* fact : facts.processes) {
    const Instant at = InstantOf(*fact);
    if (at.latest >= onset.began && at.earliest <= horizon) note(fact->process().slot(), at.earliest);
  }
  for (const auto& [slot, steps] : job.slots) {
    for (const SlotStep& step : steps) {
      if (step.again && step.at.earliest >= onset.t0.earliest && step.at.earliest <= horizon) {
        note(slot, step.at.earliest);
      }
    }
    if (const auto since = StallOf(steps, onset, horizon, facts.last.latest, limit)) note(slot, *since);
  }
  return interrupted;
}

// Whose process ended or was started anew between t0 and the horizon.
SlotSet Restarted(const TrialFacts& facts, const Onset& onset, TimePoint horizon, const SlotSet& members) {
  SlotSet restarted;
  for (const v1::Fact* fact : facts.processes) {
    const Instant at = InstantOf(*fact);
    const bool within = at.latest >= onset.began && at.earliest <= horizon;
    if (within && members.contains(fact->process().slot())) restarted.insert(fact->process().slot());
  }
  return restarted;
}

SlotSet ServingWithin(const JobProgress& job, const Window& window) {
  SlotSet serving;
  for (const auto& [slot, steps] : job.slots) {
    const bool there = std::any_of(steps.begin(), steps.end(), [&](const SlotStep& step) {
      return step.at.latest >= window.start.earliest && step.at.earliest <= window.end.latest;
    });
    if (there && !slot.empty()) serving.insert(slot);
  }
  return serving;
}

SlotSet ReportedIsolated(const TrialFacts& facts, const Onset& onset, const TrialTrio& trial) {
  SlotSet isolated;
  for (const v1::Fact* fact : facts.signals) {
    if (fact->signal().means() != v1::ISOLATED || Precedes(InstantOf(*fact), onset.t0)) continue;
    for (const std::string& slot : trial.members) {
      if (Topology::Means(fact->signal().named(), slot)) isolated.insert(slot);
    }
  }
  return isolated;
}

Isolation IsolationOf(Basis basis, const SlotSet& evicted, const SlotSet& faulted, const Topology& topology,
                      const SlotSet& members) {
  Isolation isolation;
  isolation.basis = basis;
  isolation.level = topology.LevelOf(evicted, members);
  isolation.faulted = Listed(faulted);
  isolation.evicted = Listed(evicted);
  for (const std::string& slot : evicted) {
    if (!faulted.contains(slot)) isolation.collateral.push_back(slot);
  }
  const size_t hit = evicted.size() - isolation.collateral.size();
  for (const std::string& slot : faulted) {
    if (!evicted.contains(slot)) isolation.missed.push_back(slot);
  }
  if (!evicted.empty()) isolation.precision = Share(hit, evicted.size());
  if (!faulted.empty() && basis != Basis::kUnknown) isolation.recall = Share(hit, faulted.size());
  return isolation;
}

void MeasureIsolation(const TrialFacts& facts, const Onset& onset, const Topology& topology, const JobProgress& job,
                      const SteadySearch& search, TrialTrio& trial) {
  const SlotSet members(trial.members.begin(), trial.members.end());
  if (!search.found) {
    const SlotSet reported = ReportedIsolated(facts, onset, trial);
    const Basis basis = reported.empty() ? Basis::kUnknown : Basis::kReported;
    trial.isolation = IsolationOf(basis, reported, onset.faulted, topology, members);
    return;
  }
  const SlotSet after = ServingWithin(job, *search.found);
  SlotSet evicted;
  for (const std::string& slot : trial.serving) {
    if (!after.contains(slot)) evicted.insert(slot);
  }
  trial.serving_after = Listed(after);
  if (!trial.serving.empty()) trial.capacity = Share(after.size(), trial.serving.size());
  trial.isolation = IsolationOf(Basis::kOutcome, evicted, onset.faulted, topology, members);
}

// The first progress after the job as a whole had stopped, or had gone back to a checkpoint.
std::optional<Instant> Resumption(const JobProgress& job, const Onset& onset, Nanos limit) {
  TimePoint last = onset.t0.latest;
  for (const SlotStep& step : job.all) {
    if (step.at.latest <= onset.t0.latest) continue;
    if (step.again || step.at.earliest - last > limit) return step.at;
    last = std::max(last, step.at.latest);
  }
  return std::nullopt;
}

void MeasureReturn(const JobProgress& job, const Onset& onset, int64_t high_water, Nanos limit, TrialTrio& trial) {
  const std::optional<Instant> resumed = Resumption(job, onset, limit);
  if (resumed) trial.milestones.resumed = Between(onset.t0, *resumed);
  for (const SlotStep& step : job.all) {
    if (step.step <= high_water || (resumed && step.at.latest < resumed->latest)) continue;
    trial.milestones.caught_up = Between(onset.t0, step.at);
    return;
  }
}

void MeasureStepsLost(const TrialFacts& facts, const Onset& onset, const JobProgress& job, const SteadySearch& search,
                      TrialTrio& trial) {
  const TimePoint until = search.found ? search.found->start.latest : facts.last.latest;
  std::optional<int64_t> restored;
  const auto lower = [&](int64_t step) { restored = restored ? std::min(*restored, step) : step; };
  for (const v1::Fact* fact : facts.signals) {
    const v1::SignalSeen& said = fact->signal();
    const Instant at = InstantOf(*fact);
    if (said.means() != v1::RESTORED || said.step() < 0 || Precedes(at, onset.t0) || at.earliest > until) continue;
    lower(said.step());
  }
  if (!restored) {
    for (const SlotStep& step : job.all) {
      if (step.again && step.at.earliest >= onset.t0.earliest && step.at.earliest <= until) lower(step.step - 1);
    }
  }
  trial.restored_step = restored;
  if (restored) {
    trial.steps_lost = std::max<int64_t>(0, *trial.high_water_step - *restored);
  } else if (trial.milestones.resumed || trial.milestones.caught_up) {
    trial.steps_lost = 0;
  }
}

void MeasureEffectiveTime(const JobProgress& job, const Onset& onset, const Steadiness& steadiness, TrialTrio& trial) {
  const double wall = static_cast<double>((steadiness.end - Middle(onset.t0)).count()) / 1e9;
  if (wall <= 0 || steadiness.steps_per_s <= 0) return;
  int64_t highest = steadiness.high_water;
  for (const StepSeen& step : job.steps) {
    if (step.at.latest <= steadiness.end) highest = std::max(highest, step.step);
  }
  const double productive = static_cast<double>(highest - steadiness.high_water) / steadiness.steps_per_s;
  trial.effective_time_ratio = std::min(1.0, productive / wall);
}

}  // namespace

SlotSet MembersOfJob(const TrialFacts& facts, const Onset& onset) {
  SlotSet members(facts.baseline->baseline().serving().begin(), facts.baseline->baseline().serving().end());
  SlotSet alive;
  for (const v1::Fact* fact : facts.processes) {
    if (InstantOf(*fact).latest > onset.began || fact->process().slot().empty()) continue;
    if (fact->process().appeared()) {
      alive.insert(fact->process().slot());
    } else {
      alive.erase(fact->process().slot());
    }
  }
  members.merge(alive);
  return members;
}

void MeasureRecovery(const TrialFacts& facts, const Onset& onset, const Topology& topology, double theta,
                     Nanos deadline, TrialTrio& trial) {
  const JobProgress job = FollowProgress(facts);
  const int64_t high_water = HighWater(job, facts, onset);
  Steadiness steadiness = SteadinessOf(facts, onset, theta, high_water);
  trial.high_water_step = high_water;

  // A fault may bite late: if anybody is interrupted in this trial, only windows after that count as recovery.
  const Nanos limit = steadiness.StallLimit();
  const auto ever = Interrupted(facts, onset, job, facts.last.latest, limit, trial);
  for (const auto& [slot, since] : ever) steadiness.from = std::min(steadiness.from.value_or(since), since);
  // To a job that nothing disturbs it makes no difference whether we withdrew the fault meanwhile.
  Steadiness unbarred = steadiness;
  unbarred.barriers.clear();
  trial.not_interrupted = ever.empty() && NeverSlowed(job, unbarred, onset.withdrawn);
  const SteadySearch search = FindSteady(job, trial.not_interrupted ? unbarred : steadiness);
  trial.recovery = RecoveryDelay(onset, search, deadline, trial);
  MeasureIsolation(facts, onset, topology, job, search, trial);

  const TimePoint horizon = search.found ? search.found->start.latest : facts.last.latest;
  SlotSet interrupted(trial.isolation->evicted.begin(), trial.isolation->evicted.end());
  for (const auto& [slot, since] : Interrupted(facts, onset, job, horizon, limit, trial)) interrupted.insert(slot);
  const SlotSet members(trial.members.begin(), trial.members.end());
  trial.interruption = Interruption{.level = topology.LevelOf(interrupted, members),
                                    .interrupted = Listed(interrupted),
                                    .share = members.empty() ? 0 : Share(interrupted.size(), members.size())};
  const SlotSet restarted = Restarted(facts, onset, horizon, members);
  trial.interruption->restart_level = topology.LevelOf(restarted, members);
  trial.interruption->restarted = Listed(restarted);
  MeasureReturn(job, onset, high_water, limit, trial);
  if (search.found) trial.milestones.steady = Between(onset.t0, search.found->start);
  MeasureStepsLost(facts, onset, job, search, trial);
  MeasureEffectiveTime(job, onset, steadiness, trial);
}

}  // namespace triodrill
