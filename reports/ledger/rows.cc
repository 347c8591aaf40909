#include "reports/ledger/rows.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "reports/compare/compare.h"
#include "reports/evidence/files.h"
#include "reports/ledger/calendar.h"
#include "reports/ledger/suspects.h"
#include "reports/render/escape.h"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

constexpr size_t kLongestName = 1000;

std::optional<Timed> TimedOf(const std::optional<Delay>& delay) {
  if (!delay) return std::nullopt;
  if (delay->seen) return Timed{delay->seen->min, delay->seen->max};
  return Timed{delay->censored_at, std::nullopt};
}

TrialRow TrialOf(const TrialTrio& trial) {
  TrialRow row{.trial = trial.trial, .sham = trial.sham, .valid = trial.valid, .masked = trial.masked};
  row.detection = TimedOf(trial.detection);
  row.recovery = TimedOf(trial.recovery);
  if (trial.detected_by) row.signal = trial.detected_by->signal;
  if (trial.isolation && trial.isolation->basis != Basis::kUnknown) {
    row.level = Name(trial.isolation->level);
    row.evicted = static_cast<int64_t>(trial.isolation->evicted.size());
    row.collateral = static_cast<int64_t>(trial.isolation->collateral.size());
    row.missed = static_cast<int64_t>(trial.isolation->missed.size());
  }
  row.steps_lost = trial.steps_lost;
  row.capacity = trial.capacity;
  row.false_alarms = static_cast<int64_t>(trial.false_alarms.size());
  row.undo = Name(trial.undo);
  return row;
}

// Everything that is set differs from a plan that says nothing.
Conditions ConditionsOf(const v1::Plan& plan) {
  Conditions conditions;
  for (const RunDifference& one : DifferencesOf(v1::Plan(), plan)) conditions[one.what] = one.next;
  return conditions;
}

std::string DigestOf(const Conditions& conditions) {
  std::string text;
  for (const auto& [what, value] : conditions) {
    AppendJsonString(what, text);
    AppendJsonString(value, text);
  }
  return Sha256Hex(text);
}

Status CheckRun(const LoadedBundle& bundle, const Derived& derived) {
  const auto refuse = [&](const std::string& why) {
    return absl::DataLossError(Cat("take ", bundle.directory, " into the ledger: ", why));
  };
  if (!bundle.complete) {
    return refuse(Cat("the bundle is incomplete (", bundle.problem,
                      "): what is missing would be missing for good; run the drill again"));
  }
  const RunFacts& run = derived.trio.run;
  if (run.run_id.empty() || derived.trio.drill.empty()) {
    return refuse("its timeline names no run, or its plan no drill: it could not be told from others");
  }
  if (const Result<std::string> started = UtcText(run.wall_text); !started.ok()) {
    return refuse(Cat("when the run started it says as ", std::string(started.status().message())));
  }
  return Ok();
}

}  // namespace

Result<ToldRun> RunOf(const LoadedBundle& bundle, const Derived& derived, const std::string& release) {
  TRIODRILL_RETURN_IF_ERROR(CheckRun(bundle, derived));
  const Trio& trio = derived.trio;
  const v1::Deadline& deadline = bundle.plan.drill().spec().deadline();
  ToldRun told{.run = {}, .conditions = ConditionsOf(bundle.plan)};
  RunRow& run = told.run;
  run.run_id = trio.run.run_id;
  run.plan_digest = trio.run.plan_digest;
  run.timeline_head = bundle.timeline_head;
  run.drill = trio.drill;
  run.pipeline = bundle.plan.pipeline().metadata().name();
  run.partition = bundle.plan.partition().metadata().name();
  run.release = release;
  run.tool_version = trio.run.tool_version;
  run.operator_name = trio.run.operator_name;
  run.host = trio.run.host;
  run.kernel = trio.run.kernel;
  run.started = *UtcText(trio.run.wall_text);
  run.verdict = Name(derived.verdict.answer);
  run.outcome = Name(derived.verdict.outcome);
  run.headline = derived.verdict.headline;
  run.exit_code = static_cast<int64_t>(derived.verdict.exit_code);
  run.undo_confirmed = derived.verdict.undo_confirmed;
  run.planned_faulted = trio.planned_faulted;
  run.planned_sham = trio.planned_sham;
  run.detection_deadline = ToNanos(deadline.detection());
  run.recovery_deadline = ToNanos(deadline.recovery());
  run.simulated = absl::StrJoin(trio.simulated, ", ");
  run.conditions = DigestOf(told.conditions);
  run.bundle = bundle.directory;
  for (const TrialTrio& trial : trio.trials) run.trials.push_back(TrialOf(trial));
  run.sdc = SdcOf(bundle.plan, bundle.timeline, trio);
  run.served = ServedIn(trio, run.sdc);
  return told;
}

Status CheckText(std::string_view what, std::string_view text, size_t limit) {
  if (text.size() > std::min(limit, kLongestName)) {
    return absl::InvalidArgumentError(Cat(what, ": longer than ", std::min(limit, kLongestName), " bytes"));
  }
  if (PlainText(text, kLongestName + 1) != text) {
    return absl::InvalidArgumentError(
        Cat(what, " \"", PlainText(text), "\": one line of visible characters in UTF-8 is wanted"));
  }
  return Ok();
}

}  // namespace triodrill::ledger
