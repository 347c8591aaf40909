// What was measured, trial by trial: the trio (detection latency, isolation granularity, recovery time) and what stands
// around it. Values only; trio.json (reports/README.md) mirrors these members one to one.
//
// Every time is counted from t0, the verified onset, and is an interval. A time that was not seen is censored: it is
// kept with the time for which it certainly was not seen, never dropped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/measure/origin.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/options.pb.h"

namespace triodrill {

// A time since t0: seen within `seen`, or censored at `censored_at` (at least so long, for the reason given).
struct Delay {
  std::optional<Span> seen;
  Nanos censored_at{0};
  std::string why_censored;

  bool censored() const { return !seen.has_value(); }
};

enum class Naming { kFaulted, kUnattributed, kNeighbour };

// Something that the pipeline, or a component, said after t0.
struct PipelineReport {
  Span since_onset{};
  Naming naming = Naming::kUnattributed;
  std::string named;  // as the signal named it; "" = nobody
  std::string signal;
  std::string source;
  std::string raw;
  std::string claimed_time;
};

// What was broken, and the proof.
struct FaultedTarget {
  std::string shot;
  std::string kind;
  v1::Level level = v1::LEVEL_UNSPECIFIED;
  std::string node;
  std::string slot;  // "" for a fault of the node's link
  Instant landed{};
  std::string evidence;
};

// How E is known.
enum class Basis {
  kOutcome,   // who made progress in the recovered window, and who did not
  kReported,  // the job never became steady again: what the pipeline said it isolated
  kUnknown,   // neither
};

struct Isolation {
  Basis basis = Basis::kUnknown;
  v1::Domain level = v1::DOMAIN_NONE;
  std::optional<double> precision;      // undefined if nothing was evicted
  std::optional<double> recall;         // undefined if nothing was faulted, or if E is unknown
  std::vector<std::string> faulted;     // F
  std::vector<std::string> evicted;     // E
  std::vector<std::string> collateral;  // E - F
  std::vector<std::string> missed;      // F - E
};

struct Interruption {
  v1::Domain level = v1::DOMAIN_NONE;
  std::vector<std::string> interrupted;  // I
  double share = 0;                      // |I| / |members of the job|
  v1::Domain restart_level = v1::DOMAIN_NONE;
  std::vector<std::string> restarted;  // those of the job whose process ended or was started anew
};

struct Milestones {
  std::optional<Span> detected, diagnosed, isolated, replaced, restored, resumed, caught_up, steady;
};

enum class Coverage { kSeen, kNotSeen, kNotApplicable };
struct CoveredStep {
  Coverage coverage = Coverage::kNotSeen;
  std::string evidence;  // of the first sight
};

// The job's state against that of a run without a fault, once the job was steady again (or, if it never was, after t0).
enum class StateAnswer {
  kNotApplicable,  // the pipeline's profile tells of no state
  kNotSeen,        // no state was told then
  kNoReference,    // states were told, and there is nothing to compare them with
  kEqual,
  kDifferent,
};
struct StateCheck {
  StateAnswer answer = StateAnswer::kNotApplicable;
  int compared = 0;
  std::string first_different;  // "step 120, shard 0"
};

enum class UndoState { kConfirmed, kNotConfirmed, kNothingToUndo };
struct OpenUndo {
  std::string shot;
  std::string node;
  std::string problem;
  std::string by_hand;
};

struct TrialTrio {
  int trial = 0;
  bool sham = false;
  bool valid = false;
  std::vector<std::string> problems;  // why it is not valid

  std::vector<FaultedTarget> targets;
  std::optional<Instant> landed;     // t0; in a sham trial the instant at which nothing was applied
  std::optional<Instant> withdrawn;  // when the last fault that was held was seen gone
  Span observed{};                   // from t0 to the trial's end
  double baseline_steps_per_s = 0;
  std::optional<int64_t> high_water_step;  // before t0
  std::vector<std::string> serving;        // slots that made progress in the baseline
  std::vector<std::string> members;        // serving, and every slot with a live rank process at t0: the job
  std::vector<std::string> serving_after;  // slots, in the recovered window

  // Faulted trials with a landing only.
  std::optional<Delay> detection;
  std::optional<PipelineReport> detected_by;   // the report that `detection` rests on
  std::optional<PipelineReport> first_report;  // of any naming; may be a misattribution
  std::vector<PipelineReport> misattributed;
  std::vector<PipelineReport> uncredited;  // after the deadline, or after the fault was withdrawn
  int reports = 0;                         // of any naming, after t0
  std::optional<PipelineReport> first_symptom;
  int symptoms = 0;
  std::optional<Isolation> isolation;
  std::optional<Interruption> interruption;
  std::optional<Delay> recovery;
  bool not_interrupted = false;                 // nobody stopped and the rate never fell below theta
  std::optional<Span> steady_after_withdrawal;  // since the withdrawal, where that is why recovery is censored
  Milestones milestones;
  std::optional<int64_t> steps_lost;  // absent if the job never went on
  std::optional<int64_t> restored_step;
  std::optional<double> effective_time_ratio;
  std::optional<double> capacity;  // absent if the job never became steady again
  StateCheck state;
  bool masked = false;  // a tensor was changed, nobody said so, and no state of the job ever differed
  std::map<std::string, CoveredStep> coverage;  // detect, self_check, isolate, replace, recover

  std::vector<PipelineReport> false_alarms;  // sham trials only

  UndoState undo = UndoState::kNothingToUndo;
  std::vector<OpenUndo> open_undos;
};

// A figure over several trials. Measurement error is in the spans; sampling error is in the order-statistic interval.
struct Summary {
  int n = 0;  // valid faulted trials
  int censored = 0;
  std::optional<Span> p50, p90;        // Kaplan-Meier; absent where censoring leaves them open
  std::optional<Span> median_between;  // order statistics: the median lies between these with >= 95%
  double median_confidence = 0;
  std::optional<Nanos> min, max;  // of those seen: shortest possible, longest possible
};

struct ClockError {
  std::string node;
  Nanos width{0};  // of the offset interval
  Nanos min_round_trip{0};
};

// The Prometheus and the Alertmanager that were watched, and Slurm.
struct MonitoringFacts {
  bool fingerprinted = true;         // false: there was Slurm alone, which has no rules that could be changed
  std::string problem;               // why before and after cannot be compared; "" if they were
  int parts = 0;                     // rules, groups, silences and configurations before
  std::vector<std::string> changes;  // "silence ID was added"
  std::vector<std::string> gaps;     // while a trial ran: "trial 2: prometheus: ..."
};

// What the run says of itself.
struct RunFacts {
  std::string run_id, tool_version, plan_digest, wall_text, operator_name, host, kernel;
  std::string outcome;  // finished, aborted, refused, broken; incomplete if the writer died
  std::string problem;
  std::vector<std::string> refusals;  // checks of the gate that did not pass: "name: saw; hint"
  std::vector<std::string> remarks;
  std::vector<ClockError> clocks;  // the widest of each node
  Instant began{}, ended{};
  Origin origin;                              // not in trio.json
  std::optional<MonitoringFacts> monitoring;  // absent where the pipeline's profile has none of them
};

struct Trio {
  std::string drill;
  std::vector<std::string> simulated;
  RunFacts run;
  int planned_faulted = 0;
  int planned_sham = 0;
  std::vector<TrialTrio> trials;  // those that began, in running order
  Summary detection_latency;
  Summary recovery_time;
  int sham_trials = 0;  // valid
  int false_alarms = 0;
  std::vector<OpenUndo> stray_undos;  // of shots that no trial knows, and not confirmed
};

// Words as they stand in trio.json.
std::string Name(Naming naming);
std::string Name(Basis basis);
std::string Name(Coverage coverage);
std::string Name(UndoState undo);
std::string Name(StateAnswer answer);
std::string Name(v1::Domain domain);  // "node"
std::string Name(v1::Level level);    // "mechanism"

}  // namespace triodrill
