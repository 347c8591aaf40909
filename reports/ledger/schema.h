// The tables of a ledger (reports/README.md has them column by column). A change of them is a new version.
#pragma once

#include <cstdint>
#include <string_view>

namespace triodrill::ledger {

inline constexpr int64_t kSchemaVersion = 1;
// In the file's header, so that `file` and we tell a ledger from any other SQLite file: "3Dri".
inline constexpr int64_t kApplicationId = 0x33447269;

inline constexpr std::string_view kSchema = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;

CREATE TABLE condition_set(digest TEXT PRIMARY KEY NOT NULL) STRICT;
CREATE TABLE condition(
  digest TEXT NOT NULL REFERENCES condition_set, what TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(digest, what)) STRICT, WITHOUT ROWID;

CREATE TABLE run(
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, plan_digest TEXT NOT NULL, timeline_head TEXT NOT NULL,
  drill TEXT NOT NULL, pipeline TEXT NOT NULL, partition TEXT NOT NULL, release TEXT NOT NULL,
  tool_version TEXT NOT NULL, operator TEXT NOT NULL, host TEXT NOT NULL, kernel TEXT NOT NULL,
  started TEXT NOT NULL, quarter TEXT NOT NULL, verdict TEXT NOT NULL, outcome TEXT NOT NULL, headline TEXT NOT NULL,
  exit_code INTEGER NOT NULL, undo_confirmed INTEGER NOT NULL,
  planned_faulted INTEGER NOT NULL, planned_sham INTEGER NOT NULL,
  detection_deadline_ns INTEGER NOT NULL, recovery_deadline_ns INTEGER NOT NULL,
  simulated TEXT NOT NULL, conditions TEXT NOT NULL REFERENCES condition_set,
  bundle TEXT NOT NULL, added TEXT NOT NULL,
  UNIQUE(run_id, drill)) STRICT;
CREATE INDEX run_by_quarter ON run(quarter, drill, pipeline);

CREATE TABLE trial(
  run INTEGER NOT NULL REFERENCES run, trial INTEGER NOT NULL,
  sham INTEGER NOT NULL, valid INTEGER NOT NULL, masked INTEGER NOT NULL,
  detection_low_ns INTEGER, detection_high_ns INTEGER, recovery_low_ns INTEGER, recovery_high_ns INTEGER,
  signal TEXT NOT NULL, level TEXT NOT NULL, evicted INTEGER, collateral INTEGER, missed INTEGER,
  steps_lost INTEGER, capacity REAL, false_alarms INTEGER NOT NULL, undo TEXT NOT NULL,
  PRIMARY KEY(run, trial)) STRICT, WITHOUT ROWID;

CREATE TABLE served(
  run INTEGER NOT NULL REFERENCES run, slot TEXT NOT NULL, trials INTEGER NOT NULL,
  PRIMARY KEY(run, slot)) STRICT, WITHOUT ROWID;

CREATE TABLE sdc(
  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES run, trial INTEGER NOT NULL,
  valid INTEGER NOT NULL, slot TEXT NOT NULL, changed TEXT NOT NULL, parameters TEXT NOT NULL, proof TEXT NOT NULL,
  outcome TEXT NOT NULL, named TEXT NOT NULL, signal TEXT NOT NULL, source TEXT NOT NULL, raw TEXT NOT NULL,
  latency_low_ns INTEGER, latency_high_ns INTEGER, reports INTEGER NOT NULL,
  fleet_wide TEXT NOT NULL, co_located TEXT NOT NULL) STRICT;
CREATE INDEX sdc_by_run ON sdc(run);

CREATE TABLE disposition(
  id INTEGER PRIMARY KEY AUTOINCREMENT, sdc INTEGER NOT NULL REFERENCES sdc, disposition TEXT NOT NULL,
  reason TEXT NOT NULL, operator TEXT NOT NULL, at TEXT NOT NULL) STRICT;
CREATE TRIGGER disposition_is_not_changed BEFORE UPDATE ON disposition
  BEGIN SELECT RAISE(ABORT, 'what was said about an entry is kept: add to it'); END;
CREATE TRIGGER disposition_is_not_deleted BEFORE DELETE ON disposition
  BEGIN SELECT RAISE(ABORT, 'what was said about an entry is kept: add to it'); END;

CREATE TABLE incident(
  id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, detected TEXT NOT NULL, ended TEXT NOT NULL,
  quarter TEXT NOT NULL, severity TEXT NOT NULL, summary TEXT NOT NULL, drill TEXT NOT NULL, pipeline TEXT NOT NULL,
  release TEXT NOT NULL, operator TEXT NOT NULL, added TEXT NOT NULL) STRICT;
CREATE INDEX incident_by_quarter ON incident(quarter);
)sql";

}  // namespace triodrill::ledger
