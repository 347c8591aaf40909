// What a ledger holds, as values: a row for each run, trial, suspect of silent data corruption (SDC), word about one,
// and incident. The first three follow from a bundle's plan and facts alone. Pure; the file is ledger.h's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/evidence/derive.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::ledger {

// A time since t0: within [low, high], or, without `high`, censored at `low`.
struct Timed {
  Nanos low{0};
  std::optional<Nanos> high;

  bool censored() const { return !high.has_value(); }
  friend bool operator==(const Timed&, const Timed&) = default;
};

struct TrialRow {
  int64_t trial = 0;
  bool sham = false;
  bool valid = false;
  bool masked = false;
  std::optional<Timed> detection;  // these four: faulted trials with a landing only
  std::optional<Timed> recovery;
  std::string signal;                                  // that the detection rests on
  std::string level;                                   // of the isolation; "" where it is not known
  std::optional<int64_t> evicted, collateral, missed;  // slots; absent where it is not known
  std::optional<int64_t> steps_lost;
  std::optional<double> capacity;
  int64_t false_alarms = 0;  // sham trials
  std::string undo;

  friend bool operator==(const TrialRow&, const TrialRow&) = default;
};

// One slot in one trial: its data was changed by a drill, or the pipeline suspects it without that.
struct SdcRow {
  int64_t id = 0;     // the ledger's
  int64_t trial = 0;  // 0: between trials
  bool valid = false;
  std::string slot;                 // or node, if no slot was named
  std::string changed;              // kind of the fault; "" for a suspect
  std::string parameters;           // of the fault, as JSON
  std::string proof;                // how its landing was seen
  std::string outcome;              // detected, masked, missed, not_valid; reported for a suspect
  std::string named;                // by the detection: faulted, unattributed; "" if there is none
  std::string signal, source, raw;  // means of detection
  std::optional<Timed> latency;
  int64_t reports = 0;                 // of SDC that named a suspect in that trial
  std::string fleet_wide, co_located;  // re-tests that are proposed

  bool injected() const { return !changed.empty(); }
  friend bool operator==(const SdcRow&, const SdcRow&) = default;
};

// In how many valid trials a slot, or any slot of a node, was part of the job.
struct ServedRow {
  std::string slot;
  int64_t trials = 0;
  friend bool operator==(const ServedRow&, const ServedRow&) = default;
};

// What the figures depend on: as reports/compare sees it, field by field.
using Conditions = std::map<std::string, std::string>;

struct RunRow {
  int64_t id = 0;  // the ledger's
  std::string run_id, plan_digest, timeline_head;
  std::string drill, pipeline, partition, release;
  std::string tool_version, operator_name, host, kernel;
  std::string started;  // UTC, see calendar.h
  std::string verdict, outcome, headline;
  int64_t exit_code = 0;
  bool undo_confirmed = false;
  int64_t planned_faulted = 0, planned_sham = 0;
  Nanos detection_deadline{0}, recovery_deadline{0};
  std::string simulated;   // parts of the partition, joined by ", "
  std::string conditions;  // digest of them
  std::string bundle;      // as it was named
  std::string added;       // UTC
  std::vector<TrialRow> trials;
  std::vector<SdcRow> sdc;
  std::vector<ServedRow> served;
};

// What a person said about an entry. Kept beside what was said before.
struct DispositionRow {
  int64_t id = 0;
  int64_t entry = 0;  // SdcRow.id
  std::string disposition, reason, operator_name, at;
};

struct IncidentRow {
  int64_t id = 0;
  std::string started;
  std::string detected, ended;  // "" where nobody said
  std::string severity, summary, drill, pipeline, release, operator_name, added;
};

struct LedgerRows {
  std::vector<RunRow> runs;                      // by start
  std::vector<DispositionRow> dispositions;      // in the order in which they were said
  std::vector<IncidentRow> incidents;            // by start
  std::map<std::string, Conditions> conditions;  // by digest
};

// A bundle's run, and the conditions that `RunRow::conditions` is the digest of.
struct ToldRun {
  RunRow run;
  Conditions conditions;
};

// Refuses what could not be told apart or put into a quarter later: no run id, a start that is no time in UTC.
Result<ToldRun> RunOf(const LoadedBundle& bundle, const Derived& derived, const std::string& release);

// Texts that people give (a release, a reason): one line of visible characters, at most `limit` bytes.
Status CheckText(std::string_view what, std::string_view text, size_t limit);

}  // namespace triodrill::ledger
