#include "reports/measure/signals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace triodrill {
namespace {

// The first of several events: it came by the time the first was certainly there, and no earlier than any can have
// been.
void Earlier(std::optional<Span>& first, const Span& span) {
  if (!first) {
    first = span;
    return;
  }
  first->min = std::min(first->min, span.min);
  first->max = std::min(first->max, span.max);
}

// For how long certainly nothing was reported, and why nobody waited longer.
Delay Unreported(const Onset& onset, Nanos deadline, const TrialTrio& trial) {
  Delay delay{.seen = std::nullopt, .censored_at = deadline, .why_censored = "no report before the deadline"};
  if (onset.credit_ends) {
    const Nanos until_withdrawn = Between(onset.t0, *onset.credit_ends).min;
    if (until_withdrawn < delay.censored_at) {
      delay.censored_at = until_withdrawn;
      delay.why_censored = "no report before the fault was withdrawn";
    }
  }
  if (trial.observed.min < delay.censored_at) {
    delay.censored_at = trial.observed.min;
    delay.why_censored = "no report before the trial ended";
  }
  return delay;
}

}  // namespace

Naming NamingOf(std::string_view named, const SlotSet& faulted) {
  if (named.empty()) return Naming::kUnattributed;
  const bool means = std::any_of(faulted.begin(), faulted.end(),
                                 [&](const std::string& slot) { return Topology::Means(named, slot); });
  return means ? Naming::kFaulted : Naming::kNeighbour;
}

PipelineReport ReportOf(const v1::Fact& fact, const Onset& onset) {
  const v1::SignalSeen& said = fact.signal();
  return {.since_onset = Between(onset.t0, InstantOf(fact)),
          .naming = NamingOf(said.named(), onset.faulted),
          .named = said.named(),
          .signal = said.signal(),
          .source = said.source(),
          .raw = said.raw(),
          .claimed_time = said.claimed_time()};
}

void MeasureDetection(const TrialFacts& facts, const Onset& onset, Nanos deadline, TrialTrio& trial) {
  std::optional<Span> first;
  for (const v1::Fact* fact : facts.signals) {
    const Instant at = InstantOf(*fact);
    if (Precedes(at, onset.t0)) continue;
    if (fact->signal().means() == v1::SYMPTOM) {
      if (++trial.symptoms == 1) trial.first_symptom = ReportOf(*fact, onset);
      continue;
    }
    if (fact->signal().means() != v1::DETECTED) continue;
    PipelineReport report = ReportOf(*fact, onset);
    ++trial.reports;
    if (!trial.first_report) trial.first_report = report;
    if (report.naming == Naming::kNeighbour) {
      trial.misattributed.push_back(std::move(report));
      continue;
    }
    const bool too_late = report.since_onset.min > deadline;
    const bool after_withdrawal = onset.credit_ends && at.latest > onset.credit_ends->latest;
    if (too_late || after_withdrawal) {
      trial.uncredited.push_back(std::move(report));
      continue;
    }
    Earlier(first, report.since_onset);
    if (!trial.detected_by) trial.detected_by = std::move(report);
  }
  trial.detection = first ? Delay{.seen = first, .why_censored = ""} : Unreported(onset, deadline, trial);
  trial.milestones.detected = first;
}

std::optional<Span> FirstSignal(const TrialFacts& facts, const Onset& onset, v1::Meaning means, std::string* evidence) {
  std::optional<Span> first;
  for (const v1::Fact* fact : facts.signals) {
    if (fact->signal().means() != means || Precedes(InstantOf(*fact), onset.t0)) continue;
    if (!first && evidence != nullptr) {
      *evidence = absl::StrCat("signal ", fact->signal().signal(), " in ", fact->signal().source());
    }
    Earlier(first, Between(onset.t0, InstantOf(*fact)));
  }
  return first;
}

}  // namespace triodrill
