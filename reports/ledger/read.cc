#include "reports/ledger/read.h"

namespace triodrill::ledger {
namespace {

// The run with that id; an entry of a run that is not there is passed over (foreign keys keep that from happening).
class RunIndex {
 public:
  explicit RunIndex(LedgerRows& rows) {
    for (RunRow& run : rows.runs) runs_[run.id] = &run;
  }
  RunRow* Find(int64_t id) const {
    const auto at = runs_.find(id);
    return at == runs_.end() ? nullptr : at->second;
  }

 private:
  std::map<int64_t, RunRow*> runs_;
};

std::optional<Timed> TimedAt(const Statement& row, int column) {
  const std::optional<int64_t> low = row.OptionalInt(column);
  if (!low) return std::nullopt;
  const std::optional<int64_t> high = row.OptionalInt(column + 1);
  return Timed{Nanos(*low), high ? std::optional(Nanos(*high)) : std::nullopt};
}

// One row each.
template <typename Take>
Status ForEach(Database& database, std::string_view sql, Take take) {
  TRIODRILL_ASSIGN_OR_RETURN(Statement statement, database.Query(sql));
  for (;;) {
    TRIODRILL_ASSIGN_OR_RETURN(const bool row, statement.Next());
    if (!row) return Ok();
    take(statement);
  }
}

Status ReadRuns(Database& database, LedgerRows& rows) {
  constexpr std::string_view kSql =
      "SELECT id, run_id, plan_digest, timeline_head, drill, pipeline, partition, release, tool_version, operator, "
      "host, kernel, started, verdict, outcome, headline, exit_code, undo_confirmed, planned_faulted, planned_sham, "
      "detection_deadline_ns, recovery_deadline_ns, simulated, conditions, bundle, added FROM run ORDER BY started, id";
  return ForEach(database, kSql, [&](const Statement& row) {
    RunRow& run = rows.runs.emplace_back();
    run.id = row.Int(0);
    std::string* const texts[] = {&run.run_id,        &run.plan_digest, &run.timeline_head, &run.drill,
                                  &run.pipeline,      &run.partition,   &run.release,       &run.tool_version,
                                  &run.operator_name, &run.host,        &run.kernel,        &run.started,
                                  &run.verdict,       &run.outcome,     &run.headline};
    int column = 0;
    for (std::string* const text : texts) *text = row.Text(++column);
    run.exit_code = row.Int(16);
    run.undo_confirmed = row.Int(17) != 0;
    run.planned_faulted = row.Int(18);
    run.planned_sham = row.Int(19);
    run.detection_deadline = Nanos(row.Int(20));
    run.recovery_deadline = Nanos(row.Int(21));
    run.simulated = row.Text(22);
    run.conditions = row.Text(23);
    run.bundle = row.Text(24);
    run.added = row.Text(25);
  });
}

Status ReadTrials(Database& database, const RunIndex& runs) {
  constexpr std::string_view kSql =
      "SELECT run, trial, sham, valid, masked, detection_low_ns, detection_high_ns, recovery_low_ns, recovery_high_ns, "
      "signal, level, evicted, collateral, missed, steps_lost, capacity, false_alarms, undo FROM trial "
      "ORDER BY run, trial";
  return ForEach(database, kSql, [&](const Statement& row) {
    RunRow* const run = runs.Find(row.Int(0));
    if (run == nullptr) return;
    TrialRow& trial = run->trials.emplace_back();
    trial.trial = row.Int(1);
    trial.sham = row.Int(2) != 0;
    trial.valid = row.Int(3) != 0;
    trial.masked = row.Int(4) != 0;
    trial.detection = TimedAt(row, 5);
    trial.recovery = TimedAt(row, 7);
    trial.signal = row.Text(9);
    trial.level = row.Text(10);
    trial.evicted = row.OptionalInt(11);
    trial.collateral = row.OptionalInt(12);
    trial.missed = row.OptionalInt(13);
    trial.steps_lost = row.OptionalInt(14);
    trial.capacity = row.OptionalReal(15);
    trial.false_alarms = row.Int(16);
    trial.undo = row.Text(17);
  });
}

Status ReadSdc(Database& database, const RunIndex& runs) {
  constexpr std::string_view kSql =
      "SELECT run, id, trial, valid, slot, changed, parameters, proof, outcome, named, signal, source, raw, "
      "latency_low_ns, latency_high_ns, reports, fleet_wide, co_located FROM sdc ORDER BY id";
  TRIODRILL_RETURN_IF_ERROR(ForEach(database, kSql, [&](const Statement& row) {
    RunRow* const run = runs.Find(row.Int(0));
    if (run == nullptr) return;
    SdcRow& sdc = run->sdc.emplace_back();
    sdc.id = row.Int(1);
    sdc.trial = row.Int(2);
    sdc.valid = row.Int(3) != 0;
    std::string* const texts[] = {&sdc.slot,  &sdc.changed, &sdc.parameters, &sdc.proof, &sdc.outcome,
                                  &sdc.named, &sdc.signal,  &sdc.source,     &sdc.raw};
    int column = 3;
    for (std::string* const text : texts) *text = row.Text(++column);
    sdc.latency = TimedAt(row, 13);
    sdc.reports = row.Int(15);
    sdc.fleet_wide = row.Text(16);
    sdc.co_located = row.Text(17);
  }));
  return ForEach(database, "SELECT run, slot, trials FROM served ORDER BY run, slot", [&](const Statement& row) {
    if (RunRow* const run = runs.Find(row.Int(0))) run->served.push_back({row.Text(1), row.Int(2)});
  });
}

Status ReadPeoplesWords(Database& database, LedgerRows& rows) {
  TRIODRILL_RETURN_IF_ERROR(ForEach(
      database, "SELECT id, sdc, disposition, reason, operator, at FROM disposition ORDER BY id",
      [&](const Statement& row) {
        rows.dispositions.push_back({row.Int(0), row.Int(1), row.Text(2), row.Text(3), row.Text(4), row.Text(5)});
      }));
  constexpr std::string_view kSql =
      "SELECT id, started, detected, ended, severity, summary, drill, pipeline, release, operator, added FROM incident "
      "ORDER BY started, id";
  return ForEach(database, kSql, [&](const Statement& row) {
    rows.incidents.push_back({row.Int(0), row.Text(1), row.Text(2), row.Text(3), row.Text(4), row.Text(5), row.Text(6),
                              row.Text(7), row.Text(8), row.Text(9), row.Text(10)});
  });
}

}  // namespace

Result<LedgerRows> ReadRows(Database& database) {
  LedgerRows rows;
  TRIODRILL_RETURN_IF_ERROR(ReadRuns(database, rows));
  const RunIndex runs(rows);
  TRIODRILL_RETURN_IF_ERROR(ReadTrials(database, runs));
  TRIODRILL_RETURN_IF_ERROR(ReadSdc(database, runs));
  TRIODRILL_RETURN_IF_ERROR(ReadPeoplesWords(database, rows));
  TRIODRILL_RETURN_IF_ERROR(
      ForEach(database, "SELECT digest, what, value FROM condition ORDER BY digest, what",
              [&](const Statement& row) { rows.conditions[row.Text(0)][row.Text(1)] = row.Text(2); }));
  return rows;
}

}  // namespace triodrill::ledger
